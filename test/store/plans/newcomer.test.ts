/**
 * A large tenant comes into a database whose statistics know another one. Nothing makes them anew. Each step of its first
 * month may cost twice what it costs where they are made anew before each step. Blocks and rows are counted, not time.
 */
import { beforeAll, expect, test } from 'vitest'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { executeTickets } from '../../../service/tickets/execute-tickets.ts'
import { openBulkTickets } from '../../../service/tickets/open-bulk-tickets.ts'
import { keepCyclesOpen } from '../../../service/usage/rows/cycles.ts'
import { partitionsFor } from '../../../service/usage/rows/partitions.ts'
import { evaluateSubjects } from '../../../service/watchdog/evaluate-subjects.ts'
import { sweepSubjects } from '../../../service/watchdog/sweep-subjects.ts'
import { lookAtAll } from '../../../store/shards.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { iccidOf } from '../../../tools/bench/estate-rows.ts'
import { aPool, aTariff, type Harness, NOON, type Tenant } from '../../api/harness.ts'
import { evaluationOptions } from '../../service/harness.ts'
import { type Statement, statementsOf } from './caught.ts'
import { fill, onClient, stopAutovacuum, useExplained } from './estate.ts'
import { get, network, TRIES } from './hot.ts'

const SIMS = 20_000
const POOLS = 100
/** SIMs of the tenant that statistics know. */
const KNOWN = 5000
const DECEMBER = Date.UTC(2026, 11, 2, 12)

interface Newcomer {
  readonly harness: Harness
  tenant: Tenant
  pools: number[]
  simIds: number[]
  /** Makes PostgreSQL's statistics anew, in the database where that is done. */
  learn: () => Promise<void>
}

/** A database of its own. @param isLearning whether its statistics are made anew before each step */
function useNewcomer(isLearning: boolean): Newcomer {
  const { harness, url } = useExplained()
  const analyze = () => onClient(url(), (run) => run('analyze'))
  const newcomer: Newcomer = {
    harness,
    tenant: undefined as unknown as Tenant,
    pools: [],
    simIds: [],
    learn: async () => {
      if (isLearning) await analyze()
    },
  }
  beforeAll(async () => {
    await harness.operate('POST', '/internal/rules', { files: await readRuleFiles(''), author: 'the tests' })
    await partitionsFor(harness.store, [Date.UTC(2026, 8), Date.UTC(2026, 9), NOON, DECEMBER])
    await onClient(url(), stopAutovacuum)
    await fill(harness, url(), harness.other, { first: 0, sims: KNOWN })
    await analyze()
    const { tenant } = harness
    newcomer.tenant = tenant
    const tariffs = [await aTariff(tenant), await aTariff(tenant, 1), await aTariff(tenant, 2)]
    for (let n = 0; n < POOLS; n++) {
      newcomer.pools.push(await aPool(tenant, { type: n % 3, tariffId: tariffs[n % 3], watchdogMode: 2 }))
    }
  })
  return newcomer
}

const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n)
const iccid = (n: number) => iccidOf(KNOWN + n)

async function send({ tenant }: Newcomer, method: string, url: string, lines?: readonly object[] | object) {
  const isMany = Array.isArray(lines)
  const body = isMany ? lines.map((line) => JSON.stringify(line)).join('\n') : lines
  const type = { 'content-type': isMany ? 'application/x-ndjson' : 'application/json' }
  const answer = await tenant.inside(method, url, body, type)
  if (answer.status >= 300) throw new Error(`${method} ${url}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}
const work = async ({ harness, tenant }: Newcomer) => {
  const { store } = harness
  await openBulkTickets(store, async () => undefined, tenant.id)
  await executeTickets(store, network, TRIES, tenant.id)
}
const evaluate = ({ harness, tenant }: Newcomer) => evaluateSubjects(harness.store, evaluationOptions(), tenant.id)
const usage = (newcomer: Newcomer, name: string, bytesDown: (n: number) => number) =>
  send(
    newcomer,
    'POST',
    '/internal/usage',
    numbers(SIMS).map((n) => ({
      recordId: `${name} ${n}`,
      iccid: iccid(n),
      at: new Date(newcomer.harness.now - 60_000).toISOString(),
      bytesDown: bytesDown(n),
      imei: '490154203237518',
    })),
  )

/** In the order of a tenant's first month. Each name stands for what the issue of a newcomer's operator would be. */
const STEPS: Readonly<Record<string, (newcomer: Newcomer) => Promise<unknown>>> = {
  'take-over of 20,000 SIMs': (newcomer) =>
    send(
      newcomer,
      'POST',
      '/internal/sims',
      numbers(SIMS).map((n) => ({
        iccid: iccid(n),
        tag: `meter-${n}`,
        status: 1,
        poolId: newcomer.pools[n % POOLS],
        activatedAt: '2026-03-01T00:00:00Z',
        usageBytes: 1000,
      })),
    ),
  'the first 20,000 records': (newcomer) => usage(newcomer, 'first', () => 1000),
  'their evaluation': evaluate,
  '20,000 more records, some over': (newcomer) => usage(newcomer, 'second', (n) => (n % 50 === 0 ? 10 ** 11 : 1000)),
  'the evaluation of those': evaluate,
  'a sweep': async (newcomer) => {
    const { harness, tenant } = newcomer
    await inTenant(harness.store, tenant.id, lookAtAll)
    while (await sweepSubjects(harness.store, evaluationOptions(), tenant.id));
    await evaluate(newcomer)
  },
  'lists and searches': async (newcomer) => {
    const page = await get(newcomer, '/api/sims?pageSize=100')
    newcomer.simIds = page.data.map(({ id }: { id: number }) => id)
    await get(newcomer, '/api/sims?pageSize=100&page=150')
    await get(newcomer, `/api/pools/${newcomer.pools[1]}/sims`)
    await get(newcomer, '/api/pools?pageSize=100')
    await get(newcomer, `/api/sims/${iccid(77)}`)
    await get(newcomer, '/api/sims?search=meter-17')
    await get(newcomer, '/api/watchdog/logs?pageSize=100')
    await get(newcomer, '/api/events?pageSize=100')
  },
  '2,000 tickets in bulk': async (newcomer) => {
    const sims = { iccids: numbers(2000, 1000).map(iccid) }
    await send(newcomer, 'POST', '/internal/bulk-tickets', { type: 'suspend', sims })
    for (let batch = 0; batch < 4; batch++) await work(newcomer)
  },
  'changes queued for the month end': async (newcomer) => {
    for (const simId of newcomer.simIds) {
      await newcomer.tenant.ask('POST', `/api/sims/${simId}/queue-unprovision`)
    }
  },
  'the opening of the next cycle': async (newcomer) => {
    newcomer.harness.now = DECEMBER
    await keepCyclesOpen(newcomer.harness.store, newcomer.tenant.id)
  },
  'the month end': async (newcomer) => {
    await send(newcomer, 'POST', '/internal/cycles/2026-11/renew', {})
    const { batches } = await get(newcomer, '/internal/cycles/2026-11/batches?kind=unassign', 'inside')
    for (const { afterSimId, throughSimId } of batches) {
      const range = { kind: 'unassign', afterSimId, throughSimId }
      await send(newcomer, 'POST', '/internal/cycles/2026-11/changes/apply', range)
      await work(newcomer)
    }
  },
  'the close of the cycle': (newcomer) => send(newcomer, 'POST', '/internal/cycles/2026-11/close'),
  'usage of the new cycle': (newcomer) => usage(newcomer, 'third', () => 1000),
}

const costOf = ({ buffers, rows }: Pick<Statement, 'buffers' | 'rows'>) => buffers + rows
/** Blocks and rows that a step may cost more in any case. */
const SLACK = 5000

const [unknown, known] = [useNewcomer(false), useNewcomer(true)]

test.each(Object.entries(STEPS))('%s', async (_, step) => {
  await known.learn()
  const usually = await statementsOf(() => step(known))
  const costs = [...(await statementsOf(() => step(unknown))).values()].map((statement) => {
    const before = usually.get(statement.text)
    return { usual: before === undefined ? 0 : costOf(before), cost: costOf(statement), text: statement.text }
  })
  const total = (of: 'usual' | 'cost') => costs.reduce((sum, one) => sum + one[of], 0)
  const dear = costs.filter(({ usual, cost }) => cost > 2 * usual)
  expect(
    total('cost'),
    dear.map(({ usual, cost, text }) => `${usual} → ${cost}: ${text.replace(/\s+/g, ' ')}`).join('\n'),
  ).toBeLessThan(2 * total('usual') + SLACK)
})
