/** Routes for liveness, readiness and metrics. They need no key. */

import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { sql } from 'kysely'
import { type Static, Type } from 'typebox'
import { strictObject } from '../domain/schema.ts'
import { inForceInstead, type ReadRules } from '../operations/watchdog/rules-in-force.ts'
import { pendingMigrations } from '../store/migrate.ts'
import { type Db, inPlatform, type Store } from '../store/tenancy.ts'
import type { Metrics } from './metrics.ts'

/** Something that the process cannot work without. */
export interface Dependency {
  readonly name: string
  /** @returns a short text on its state; rejects if it is away */
  readonly check: () => Promise<string>
}

const Readiness = strictObject({
  ok: Type.Boolean({ description: 'Whether all of them are there' }),
  dependencies: Type.Array(
    strictObject({
      name: Type.String(),
      ok: Type.Boolean(),
      detail: Type.String({ description: 'State, or why not' }),
    }),
  ),
})
type Readiness = Static<typeof Readiness>

/** Longest time of a check, in milliseconds. A probe that waits is as bad as one that fails. */
const CHECK_MS = 3000

export const healthRoutes: FastifyPluginAsyncTypebox<{
  readonly dependencies: readonly Dependency[]
  readonly metrics: Metrics
}> = async (app, { dependencies, metrics }) => {
  const Alive = strictObject({ ok: Type.Boolean() })
  const common = { tags: ['Health'], security: [] }
  app.get(
    '/healthz',
    {
      config: { isPolled: true },
      schema: { operationId: 'isAlive', summary: 'Whether the process answers', ...common, response: { 200: Alive } },
    },
    async () => ({ ok: true }),
  )
  app.get(
    '/readyz',
    {
      config: { isPolled: true },
      schema: {
        operationId: 'isReady',
        summary: 'Whether all that the process works with is there: 200, else 503',
        ...common,
        response: { 200: Readiness, 503: Readiness },
      },
    },
    async (_request, reply) => {
      const readiness = await checkAll(dependencies)
      return reply.code(readiness.ok ? 200 : 503).send(readiness)
    },
  )
  app.get(
    '/metrics',
    {
      config: { isPolled: true },
      schema: {
        operationId: 'getMetrics',
        summary: 'Figures of the process, as Prometheus reads them',
        ...common,
        produces: ['text/plain'],
        response: {
          200: Type.String({
            description: 'Prometheus text format',
            examples: ['process_start_time_seconds 1795176000\n'],
          }),
        },
      },
    },
    async (_request, reply) => reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  )
}

async function checkAll(dependencies: readonly Dependency[]): Promise<Readiness> {
  const states = await Promise.all(dependencies.map(stateOf))
  return { ok: states.every(({ ok }) => ok), dependencies: states }
}

async function stateOf({ name, check }: Dependency) {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${CHECK_MS / 1000} s`)), CHECK_MS)
  })
  try {
    return { name, ok: true, detail: await Promise.race([check(), late]) }
  } catch (error) {
    return { name, ok: false, detail: error instanceof Error ? error.message || error.name : String(error) }
  } finally {
    clearTimeout(timer)
  }
}

/** Checks that the database is reachable and migrated. */
export const databaseDependency = (db: Db): Dependency => ({
  name: 'postgresql',
  check: async () => {
    await sql`select 1`.execute(db)
    const pending = await pendingMigrations(db)
    if (pending.length > 0) throw new Error(`not migrated: ${pending.join(', ')}; run simherd migrate`)
    return 'reachable and migrated'
  },
})

/** Checks that the rule set in force is the newest: this build accepts the set that was loaded last. */
export const rulesDependency = (store: Store, rules: ReadRules): Dependency => ({
  name: 'rules',
  check: async () => {
    const inForce = await inPlatform(store, rules)
    const { version, refused } = inForce
    if (refused === null) return version > 0 ? `version ${version} is in force` : 'none was loaded yet'
    throw new Error(
      `version ${refused.version} is refused by this build (${refused.reason}): ${inForceInstead(inForce)}`,
    )
  },
})
