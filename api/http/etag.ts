/**
 * ETags of single resources: `"<version>.<digest>"`. The version counts the changes of the resource itself, and is
 * what `If-Match` compares; the digest is of the answer, which also changes with usage, open tickets, inherited
 * settings and time, so that `If-None-Match` never takes an old answer for a new one.
 */
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply } from 'fastify'

declare module 'fastify' {
  interface FastifyReply {
    /** Version of the resource that is answered; null where the answer is none. */
    resourceVersion: number | null
  }
}

/** Has answers that name a version carry an ETag, and leave as 304 where the caller has them already. */
export function useEtags(app: FastifyInstance): void {
  app.decorateReply('resourceVersion', null)
  app.addHook('onSend', async (request, reply, payload) => {
    if (reply.resourceVersion === null || reply.statusCode !== 200 || typeof payload !== 'string') return payload
    const digest = createHash('sha256').update(payload).digest('base64url').slice(0, 16)
    const etag = `"${reply.resourceVersion}.${digest}"`
    reply.header('etag', etag)
    if (!namesTag(request.headers['if-none-match'], etag)) return payload
    reply.code(304).removeHeader('content-type')
    reply.removeHeader('content-length')
    return ''
  })
}

/** The version of what is written once. */
export const NEVER_CHANGED = 1

/** Says of which version the answer is; call before it is read, so that it is never newer than said. */
export function answersVersion(reply: FastifyReply, version: number | undefined): void {
  reply.resourceVersion = version ?? null
}

const tagsOf = (header: string): string[] => header.split(',').map((tag) => tag.trim())

/** Whether `If-None-Match` names this tag; weak ones are the same here (RFC 9110, section 13.1.2). */
const namesTag = (header: string | undefined, etag: string): boolean =>
  header !== undefined && tagsOf(header).some((tag) => tag === '*' || tag.replace(/^W\//, '') === etag)

/**
 * The versions that `If-Match` lets through; weak tags name none (RFC 9110, section 13.1.1).
 *
 * @returns undefined without the header; `any` for `*`
 */
export function versionsAsked(header: string | undefined): readonly number[] | 'any' | undefined {
  if (header === undefined) return undefined
  const tags = tagsOf(header)
  if (tags.includes('*')) return 'any'
  return tags.flatMap((tag) => {
    const version = /^"(\d{1,15})(\.[\w-]*)?"$/.exec(tag)?.[1]
    return version === undefined ? [] : [Number(version)]
  })
}
