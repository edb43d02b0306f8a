/**
 * ETags of single resources: `"<version>.<digest>"`. The version counts the changes of the resource itself; `If-Match`
 * compares it. The digest is of the response, which also changes with usage, open tickets, inherited settings and time.
 * So `If-None-Match` never takes an old response for a new one.
 */
import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ServiceError } from '../../domain/errors.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { lockVersion, type Resource } from '../../store/versions.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** Version of the resource in the response. Null if the response is no such resource. */
    resourceVersion: number | null
  }
}

/** Adds an ETag to responses that have a version. Responds 304 if the caller already has the same response. */
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

/** Sets the version of a response. Read it before the resource, or with it: it must not be newer than the response. */
export function answersVersion(reply: FastifyReply, version: number | undefined): void {
  reply.resourceVersion = version ?? null
}

const tagsOf = (header: string): string[] => header.split(',').map((tag) => tag.trim())

/** Whether `If-None-Match` names this tag. Weak tags count as equal here (RFC 9110, section 13.1.2). */
export const namesTag = (header: string | undefined, etag: string): boolean =>
  header !== undefined && tagsOf(header).some((tag) => tag === '*' || tag.replace(/^W\//, '') === etag)

/** The versions that `If-Match` accepts; undefined for all. Weak tags name none (RFC 9110, section 13.1.1). */
export function versionsAsked({ headers }: FastifyRequest): readonly number[] | undefined {
  const tags = tagsOf(headers['if-match'] ?? '*')
  if (tags.includes('*')) return undefined
  return tags.flatMap((tag) => {
    const version = /^"(\d{1,15})(\.[\w-]*)?"$/.exec(tag)?.[1]
    return version === undefined ? [] : [Number(version)]
  })
}

/**
 * Locks a resource and compares its version with `If-Match`. The change itself reports a missing resource.
 *
 * @throws ServiceError precondition_failed
 */
export async function mustBeAsSeen(tx: TenantTx, request: FastifyRequest, resource: Resource): Promise<void> {
  const asked = versionsAsked(request)
  if (asked === undefined) return
  const version = await lockVersion(tx, resource)
  if (version === undefined || asked.includes(version)) return
  throw new ServiceError(
    'precondition_failed',
    `This ${resource.kind} has changed since: it is at version ${version} now, and If-Match asks for ${asked.join(' or ') || 'no version there is'}.`,
  )
}
