/**
 * Lives through the example month by the clock of the test: delivers, evaluates, suspends and mails, as workers and
 * workflows do. There is no Temporal: what a workflow would do is done at once.
 */
import { sql } from 'kysely'
import { TicketType } from '../../domain/codes.ts'
import { refusalOf } from '../../domain/enforcement/refusal.ts'
import type { OutboxRequest } from '../../domain/temporal/outbox.ts'
import type { Cause } from '../../domain/tickets/ticket.ts'
import { pickFromPool } from '../../rules/alerts/pick-sims.ts'
import { isWatched, matchedOf } from '../../rules/alerts/subject.ts'
import { evaluateSubject } from '../../rules/engine/evaluate-subject.ts'
import { rulesFor } from '../../rules/engine/match.ts'
import { ALL_FACTS } from '../../rules/facts-needed.ts'
import type { Rule } from '../../rules/rule.ts'
import { logAction } from '../../service/enforcement/log-action.ts'
import { poolEnforcement, simEnforcement } from '../../service/enforcement/read-enforcement.ts'
import { createPool } from '../../service/pools/create-pool.ts'
import { importSims } from '../../service/sims/import-sims.ts'
import { createTariff } from '../../service/tariffs/create-tariff.ts'
import { readSituation, readSubjects } from '../../service/watchdog/read-batch.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import type { ExampleMonth, MonthRecord } from './example-month.ts'
import { complete, type Harness } from './harness.ts'

/** The estate in the database, its SIMs Unprovisioned. @returns the ids of SIMs by ICCID, and where each belongs */
export async function storeEstate(tx: TenantTx, estate: ExampleMonth['estate']) {
  const [tariffs, pools] = [new Map<string, number>(), new Map<string, number>()]
  for (const { key, ...tariff } of estate.tariffs) tariffs.set(key, (await createTariff(tx, tariff)).id)
  for (const { key, tariff, ...pool } of estate.pools)
    pools.set(key, (await createPool(tx, { ...pool, tariffId: tariffs.get(tariff) ?? 0 })).id)
  const sims = estate.sims.map(({ device: _device, pool: _pool, tariff: _tariff, ...sim }) => sim)
  const ids = new Map((await importSims(tx, sims)).created.map(({ iccid, id }) => [iccid, id]))
  const places = estate.sims.map(({ iccid, pool, tariff }) => ({
    simId: ids.get(iccid) ?? 0,
    poolId: pools.get(pool ?? '') ?? null,
    tariffId: tariffs.get(tariff ?? '') ?? null,
  }))
  return { ids, places }
}

/** The estate in the database, its SIMs Active and in their pools. @returns their ids by ICCID */
export async function settle({ asTenant }: Harness, { estate }: ExampleMonth): Promise<ReadonlyMap<string, number>> {
  return asTenant(async (tx) => {
    const { ids, places } = await storeEstate(tx, estate)
    for (const { simId, ...assignment } of places) {
      await complete(tx, { simId, type: TicketType.Provision, ...assignment })
      await complete(tx, { simId, type: TicketType.Activate })
    }
    return ids
  })
}

/** A record as it is delivered. */
export const usageOf = ({ id, iccid, at, bytes, imei }: MonthRecord) => ({
  recordId: id,
  iccid,
  at: new Date(at).toISOString(),
  bytesDown: bytes,
  imei,
  ...(bytes < 0 ? { correction: true } : {}),
})

/**
 * How often rules hold for what has just come: for SIMs that records came of, their pools, and the tenant. A system that
 * mails whenever json-rules-engine says that a rule holds sends as many mails.
 */
export const hitsOf = ({ asTenant, tenantId }: Harness, rules: readonly Rule[], simIds: readonly number[]) =>
  asTenant(async (tx) => {
    const situation = await readSituation(tx)
    const sims = await readSubjects(
      tx,
      situation,
      simIds.map((id) => ({ kind: 'sim' as const, id })),
      ALL_FACTS,
    )
    const pools = new Set(sims.flatMap(({ row }) => ('poolId' in row && row.poolId !== null ? [row.poolId] : [])))
    const others = await readSubjects(
      tx,
      situation,
      [...[...pools].map((id) => ({ kind: 'pool' as const, id })), { kind: 'tenant', id: 0 }],
      ALL_FACTS,
    )
    let hits = 0
    for (const subject of [...sims, ...others].filter(isWatched)) {
      const outcomes = await evaluateSubject(
        rulesFor(rules, matchedOf(subject, tenantId, situation.moment)),
        subject.facts,
      )
      hits += outcomes.filter(({ met }) => met).length
    }
    return hits
  })

/** Does what the requests to Temporal ask for that were written since the last time. */
export function anEnforcer({ asTenant, rows }: Harness, cycle: string) {
  let last = 0
  /** The rule of each run that was started, by the run's id. */
  const runs = new Map<string, { readonly simId: number; readonly rule: string }>()

  async function suspend(simId: number, rule: string, workflowId: string): Promise<void> {
    runs.set(workflowId, { simId, rule })
    const refusal = refusalOf(await asTenant((tx) => simEnforcement(tx, simId, cycle, rule)))
    if (refusal !== null) return
    const cause: Cause = { by: 'watchdog', rule, cycle, until: 'renewal', workflowId }
    await asTenant((tx) => complete(tx, { simId, type: TicketType.Suspend, cause }))
    await act(simId, rule, 'suspended', 'over its limit', workflowId)
  }

  async function bringBack(workflowId: string): Promise<void> {
    const run = runs.get(workflowId)
    if (run === undefined) return
    const { simId, rule } = run
    const { suspension } = await asTenant((tx) => simEnforcement(tx, simId, cycle, rule))
    if (suspension?.workflowId !== workflowId) return
    const cause: Cause = { by: 'watchdog', rule, cycle, until: 'renewal', workflowId }
    await asTenant((tx) => complete(tx, { simId, type: TicketType.Activate, cause }))
    await act(simId, rule, 'broughtBack', 'under its limit again', workflowId)
  }

  const act = (
    simId: number,
    rule: string,
    action: 'suspended' | 'broughtBack',
    detail: string,
    workflowId: string,
  ): Promise<unknown> => asTenant((tx) => logAction(tx, { simId, cycle, rule, action, counter: 0, detail, workflowId }))

  async function pick(poolId: number, rule: string): Promise<void> {
    const pool = await asTenant((tx) => poolEnforcement(tx, poolId, cycle, rule))
    if (!pool.over) return
    const { targets } = pickFromPool('largestExcess', pool)
    for (const simId of targets) await suspend(simId, rule, `${rule}/${poolId}/${simId}`)
  }

  return async (): Promise<void> => {
    const asked = await rows(sql<{ id: number; request: OutboxRequest }>`
      select id, request from workflow_outbox where id > ${last} order by id`)
    last = asked.at(-1)?.id ?? last
    for (const { request } of asked) {
      if (request.do === 'start') continue
      if (request.signal === 'cleared' || request.signal === 'standDown') await bringBack(request.workflowId)
      if (request.do !== 'signalWithStart' || request.signal !== 'overLimit') continue
      if (request.type === 'suspend-on-overage') {
        await suspend(request.input.simId, request.input.rule ?? '', request.workflowId)
      } else await pick(request.input.poolId, request.input.rule)
    }
  }
}
