/** The pulse of a tenant: a tag that changes when its pages do. Many watchers cost one question in {@link KEPT_MS}. */
import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { namesTag } from '../api/http/etag.ts'
import type { TenantStatus } from '../domain/watchdog/status.ts'
import { mustAnswer } from './answers.ts'
import { type Calls, callsOf, type Doors } from './calls.ts'
import type { TenantParams } from './tenant.ts'

const KEPT_MS = 2000
/** Usage comes in all the time: it changes the tag no more often than this, in milliseconds. */
const USAGE_MS = 30_000

/** The tag of a status. It moves with the first retrying workflow, with the last, and whenever they are twice as many. */
export function tagOf({ usage: _, feed, retryingWorkflows, longestRetry: __, ...rest }: TenantStatus): string {
  const { receivedAt, staleSince } = feed
  const receivedIn = receivedAt === null ? null : Math.floor(Date.parse(receivedAt) / USAGE_MS)
  const digest = createHash('sha256').update(
    JSON.stringify([rest, staleSince, receivedIn, Math.ceil(Math.log2(retryingWorkflows + 1))]),
  )
  return `"${digest.digest('base64url').slice(0, 16)}"`
}

interface Kept {
  readonly at: number
  readonly tag: Promise<string>
}

/** A path for scripts: 204 with an ETag, or 304 for a caller that has it. @param clock epoch milliseconds */
export function pulseRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  // Each key has its own permissions.
  const kept = new Map<string, Kept>()
  app.get<{ Params: TenantParams }>('/t/:tenant/pulse', { config: { isWatched: true } }, async (request, reply) => {
    const now = clock()
    // The oldest come first.
    for (const [of, { at }] of kept) {
      if (now - at < KEPT_MS) break
      kept.delete(of)
    }
    const { keyId, id: requestId, params } = request
    const of = JSON.stringify([keyId, params.tenant])
    const tag = kept.get(of)?.tag ?? askTag(callsOf(doors, { keyId, tenantId: params.tenant, requestId }))
    if (!kept.has(of)) kept.set(of, { at: now, tag })
    const etag = await tag
    reply.headers({ etag, 'cache-control': 'no-store' })
    return reply.code(namesTag(request.headers['if-none-match'], etag) ? 304 : 204).send()
  })
}

const askTag = async ({ inside }: Calls): Promise<string> => tagOf(await mustAnswer(inside.GET('/internal/status')))
