/** Routes for liveness, readiness and metrics. They need no key. */

import { Gauge } from '@prometheus-io/client'
import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { sql } from 'kysely'
import { type Static, Type } from 'typebox'
import { strictObject } from '../domain/schema.ts'
import { inForceInstead, type ReadRules } from '../service/rules/rules-in-force.ts'
import { pendingMigrations } from '../store/migrate/migrate.ts'
import { type Db, inPlatform, type Store } from '../store/tenancy.ts'
import type { Metrics } from './metrics.ts'

/** Something that the process works with. */
export interface Dependency {
  readonly name: string
  /** Whether nothing works without it. While another one is away, a part of the work waits and the rest goes on. */
  readonly isRequired: boolean
  /** @returns a short text on its state; rejects if it is away */
  readonly check: () => Promise<string>
}

/** The body of `/readyz`. */
export const Readiness = strictObject({
  ok: Type.Boolean({ description: 'Whether every required dependency is available' }),
  dependencies: Type.Array(
    strictObject({
      name: Type.String(),
      required: Type.Boolean({
        description: 'Whether the process needs it for all work; false: only a part of the work waits',
      }),
      ok: Type.Boolean(),
      detail: Type.String({ description: 'State, or the reason of the failure' }),
    }),
  ),
})

export type Readiness = Static<typeof Readiness>

/** Longest time of a check, in milliseconds. */
const CHECK_MS = 3000
/** How long `/readyz` waits for the check of an optional dependency: probes often give up after a second. */
const GLANCE_MS = 500
/** How old the outcome of a check may be that stands in for one that takes longer than that. */
const OUTCOME_MS = 30_000

export const healthRoutes: FastifyPluginAsync<{
  readonly dependencies: readonly Dependency[]
  readonly metrics: Metrics
}> = async (app, { dependencies, metrics }) => {
  const watched = dependencies.map(watch)
  registerUp(metrics, watched)
  app.get('/healthz', polled('isAlive', 'Whether the process answers', { 200: Alive }), async () => ({ ok: true }))
  const isReady = 'Whether every required dependency is available: 200, else 503'
  app.get('/readyz', polled('isReady', isReady, { 200: Readiness, 503: Readiness }), async (_request, reply) => {
    const states = await Promise.all(watched.map((one) => one.state(one.isRequired ? CHECK_MS : GLANCE_MS)))
    const readiness = { ok: states.every(({ ok, required }) => ok || !required), dependencies: states }
    return reply.code(readiness.ok ? 200 : 503).send(readiness)
  })
  const asText = { produces: ['text/plain'] }
  app.get(
    '/metrics',
    polled('getMetrics', 'Metrics of the process for Prometheus', { 200: Figures }, asText),
    async (_request, reply) => reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  )
}

interface HealthOptions {
  /** The HTTP server, of the same kind as the API's. */
  readonly app: FastifyInstance
  readonly host: string
  readonly port: number
  readonly dependencies: readonly Dependency[]
  readonly metrics: Metrics
}

/** Starts the worker's own small server. @throws Error if the port is taken */
export async function startHealth({ app, host, port, ...options }: HealthOptions) {
  await app.register(healthRoutes, options)
  await app.listen({ host, port })
  return { stop: () => app.close() }
}

const Alive = strictObject({ ok: Type.Boolean() })
const Figures = Type.String({
  description: 'Prometheus text format',
  examples: ['process_start_time_seconds 1795176000\n'],
})

/** Options of a route that programs call every few seconds. */
const polled = (operationId: string, summary: string, response: object, also: object = {}) => ({
  config: { isPolled: true },
  schema: { operationId, summary, tags: ['Health'], security: [], ...also, response },
})

/** A dependency without overlapping checks: requests during a check wait for its result. */
interface WatchedDependency extends Dependency {
  /** @param patienceMs how long to wait for a check before a recent outcome is taken, if there is one */
  readonly state: (patienceMs: number) => Promise<State>
}
type State = Readiness['dependencies'][number]

function watch(dependency: Dependency): WatchedDependency {
  const { name, isRequired: required, check } = dependency
  let running: Promise<State> | undefined
  let last: { readonly state: State; readonly at: number } | undefined
  const missing = (detail: string): State => ({ name, required, ok: false, detail })
  const late = (ms: number) => missing(`no answer within ${ms / 1000} s`)
  const checkNow = async () => {
    try {
      const detail = await withTimeLimit(CHECK_MS, check())
      return detail === undefined ? late(CHECK_MS) : { name, required, ok: true, detail }
    } catch (error) {
      return missing(error instanceof Error ? error.message || error.name : String(error))
    }
  }
  const checkAndKeep = async () => {
    const state = await checkNow()
    last = { state, at: performance.now() }
    running = undefined
    return state
  }
  return {
    ...dependency,
    state: async (patienceMs) => {
      running ??= checkAndKeep()
      const state = await withTimeLimit(patienceMs, running)
      if (state !== undefined) return state
      return last !== undefined && performance.now() - last.at < OUTCOME_MS ? last.state : late(patienceMs)
    },
  }
}

/** @returns undefined if the work takes longer; it goes on */
export async function withTimeLimit<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

function registerUp({ registry }: Metrics, watched: readonly WatchedDependency[]): void {
  new Gauge({
    name: 'simherd_dependency_up',
    help: 'Whether a dependency of this process is available: 1, else 0.',
    labelNames: ['name'],
    registers: [registry],
    async collect() {
      const states = await Promise.all(watched.map((one) => one.state(CHECK_MS)))
      for (const { name, ok } of states) this.set({ name }, ok ? 1 : 0)
    },
  })
}

/** Checks that the database is reachable and migrated. */
export const databaseDependency = (db: Db): Dependency => ({
  name: 'postgresql',
  isRequired: true,
  check: async () => {
    await sql`select 1`.execute(db)
    const pending = await pendingMigrations(db)
    if (pending.length > 0) throw new Error(`not migrated: ${pending.join(', ')}; run simherd migrate`)
    return 'reachable and migrated'
  },
})

/** Checks that the rule set in force is the newest: this build accepts the set loaded last. */
export const rulesDependency = (store: Store, rules: ReadRules): Dependency => ({
  name: 'rules',
  isRequired: true,
  check: async () => {
    const inForce = await inPlatform(store, rules)
    const { version, refused } = inForce
    if (refused === null) return version > 0 ? `version ${version} is in force` : 'none was loaded yet'
    throw new Error(
      `version ${refused.version} is refused by this build (${refused.reason}): ${inForceInstead(inForce)}`,
    )
  },
})
