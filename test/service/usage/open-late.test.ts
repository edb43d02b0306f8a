/** A billing cycle not opened ahead is opened by the first request that needs it: in slices, or at once if it is small. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { SimStatus, TariffType, TicketType } from '../../../domain/codes.ts'
import { ServiceError } from '../../../domain/errors.ts'
import { cycleAt } from '../../../domain/time/cycle.ts'
import { setSuspensionUntil } from '../../../service/enforcement/set-suspension-until.ts'
import { passOverSims } from '../../../service/enforcement/undo-suspensions.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { planMonthEnd } from '../../../service/month-end/plan-month-end.ts'
import { renewCycle } from '../../../service/month-end/steps.ts'
import { importSims } from '../../../service/sims/import-sims.ts'
import { wrongSums } from '../../../service/usage/rows/check-sums.ts'
import { keepAsOpened } from '../../../service/usage/rows/open-cycle.ts'
import { evaluateAll } from '../../../service/watchdog/evaluate-all.ts'
import { evaluateSubjects } from '../../../service/watchdog/evaluate-subjects.ts'
import { inTenant, type Store, type TenantTx } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { until } from '../../setup/soon.ts'
import { aHarness, complete, evaluationOptions, type Harness } from '../harness.ts'
import { recordUsage } from '../record-usage.ts'

const store = await aStore()
const BOUNDARY = Date.parse('2026-12-01T00:00:00Z')
const NEXT = '2026-12'
/** Waits for as long as it takes; gives up after its first slice. */
const IN_TWOS = { sims: 2, waitMs: 60_000 }
const PATIENT: Store = { ...store, opening: IN_TWOS }
const HASTY: Store = { ...store, opening: { sims: 2, waitMs: 0 } }

/** A tenant with Active SIMs, an hour after a boundary, in a cycle not opened ahead. */
async function anEstate(count = 5) {
  store.now = BOUNDARY - 20 * 86_400_000
  const harness = await aHarness(store)
  const pool = await harness.aPool(TariffType['Dynamic Pool'], 1000)
  const sims = await harness.activeSims(count, { poolId: pool })
  store.now = BOUNDARY + 3_600_000
  const [simId = 0] = sims
  return { ...harness, pool, sims, simId }
}
type Estate = Awaited<ReturnType<typeof anEstate>>

/** SIMs of the largest transaction with rows of the cycle. */
async function largest(harness: Harness, key = NEXT) {
  const [most] = await harness.rows(sql<{ sims: number }>`
    select count(*)::integer as sims from usage_ledger where cycle_key = ${key} group by xmin::text order by 1 desc limit 1`)
  return most?.sims ?? 0
}
const isOpen = async (harness: Harness, key = NEXT) =>
  (await harness.rows(sql`select from cycles where key = ${key}`)).length === 1
/** The SIMs that contribute in the cycle by its ledger. Its sums must be right. */
async function contributing(harness: Harness, key = NEXT) {
  expect(await harness.asTenant((tx) => wrongSums(tx))).toEqual([])
  const rows = (await harness.ledger()).filter((row) => row.cycle === key && row.contributing)
  return rows.map(({ simId }) => simId)
}
/** Bytes in the ledger, by cycle. */
async function counted(harness: Harness) {
  const used = (await harness.ledger()).filter(({ bytes }) => bytes > 0)
  return used.map(({ cycle, simId, bytes }) => ({ cycle, simId, bytes }))
}

const asUser = (work: (tx: TenantTx, estate: Estate) => Promise<unknown>) => (through: Store, estate: Estate) =>
  inTenant(through, estate.tenantId, (tx) => work(tx, estate))
const use = (through: Store, { tenantId, usage, simId }: Estate) =>
  recordUsage(through, tenantId, [usage(simId, { recordId: 'first', bytesUp: 7 })])
const suspend = asUser((tx, { simId }) => complete(tx, { simId, type: TicketType.Suspend }))
const evaluate = (through: Store, { tenantId, simId }: Estate) =>
  evaluateAll({ store: through, options: evaluationOptions(), tenantId }, [{ kind: 'sim', id: simId }])

/** Every kind of work that needs an open running cycle. */
const DOORS: Readonly<Record<string, (through: Store, estate: Estate) => Promise<unknown>>> = {
  usage: use,
  'a ticket that ends': suspend,
  'another end of a suspension': asUser((tx, { simId }) =>
    setSuspensionUntil(tx, { id: simId, workflowId: 'w', until: 'manual' }),
  ),
  'SIMs that are taken over': asUser(async (tx, { pool: poolId }) => {
    const sim = { iccid: '8999990000000000015', status: SimStatus.Active, activatedAt: '2026-03-01T00:00:00Z', poolId }
    expect(await importSims(tx, [sim])).toMatchObject({ rejected: [] })
  }),
  'an evaluation': evaluate,
  'passing SIMs over': asUser((tx, { simId }) => passOverSims(tx, { simIds: [simId] })),
  'the renewal': asUser((tx) => renewCycle(tx, '2026-11')),
  'a plan': asUser((tx) => planMonthEnd(tx, NEXT)),
}

describe('the first that needs a cycle', () => {
  test.each(Object.keys(DOORS))('opens it in slices: %s', async (door) => {
    const estate = await anEstate()
    const { simId, sims } = estate
    const isSuspended = door === 'another end of a suspension'
    if (isSuspended) {
      store.now = BOUNDARY - 1000
      const cause = { by: 'watchdog', rule: 'r', cycle: '2026-11', until: 'renewal', workflowId: 'w' } as const
      await estate.complete({ simId, type: TicketType.Suspend, cause })
      store.now = BOUNDARY + 3_600_000
    }

    await DOORS[door]?.(PATIENT, estate)

    expect(await largest(estate)).toBe(2)
    expect(await isOpen(estate)).toBe(true)
    expect((await contributing(estate)).filter((id) => sims.includes(id))).toEqual(sims)
  })

  test('opens an ended one in slices: the close', async () => {
    const estate = await anEstate()
    store.now = Date.parse('2027-01-01T12:00:00Z')

    await inTenant(PATIENT, estate.tenantId, (tx) => closeCycle(tx, NEXT))

    expect(await largest(estate)).toBe(2)
    expect(await contributing(estate)).toEqual(estate.sims)
  })

  test('waits no longer than it may, and does nothing then', async () => {
    const estate = await anEstate()

    await expect(use(HASTY, estate)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(suspend(HASTY, estate)).rejects.toThrow('Billing cycle 2026-12 is not open for all SIMs')

    expect(await isOpen(estate)).toBe(false)
    expect(await counted(estate)).toEqual([])
    expect(store.jobs.splice(0)).toContainEqual({ queue: 'evaluate', tenantId: estate.tenantId })
  })

  test('holds no subject back for it', async () => {
    const estate = await anEstate()

    const due = () => estate.rows(sql`select * from due_subjects order by subject_kind, subject_id`)
    const before = await due()

    await expect(evaluate(HASTY, estate)).rejects.toMatchObject({ code: 'unavailable' })

    expect(await due()).toEqual(before)
  })

  test.each([2, 1])('opens the last %i SIMs at once, without waiting', async (left) => {
    const estate = await anEstate(left)

    await suspend(HASTY, estate)

    expect(await isOpen(estate)).toBe(true)
    expect(await contributing(estate)).toEqual(estate.sims)
  })

  test('leaves a plan of another cycle without a trace', async () => {
    const estate = await anEstate()

    await inTenant(HASTY, estate.tenantId, (tx) => planMonthEnd(tx, '2027-03'))

    expect(await largest(estate, '2027-03')).toBe(0)
    expect(await estate.rows(sql`select from cycle_openings`)).toEqual([])
  })
})

/** A store of a process killed at the beginning of its nth transaction. */
function killedAt(n: number): Store {
  let left = n
  const clock = () => {
    left -= 1
    if (left <= 0) throw new Error('killed')
    return store.now
  }
  return { ...PATIENT, clock }
}

describe('a process that is killed between slices', () => {
  /** A door until it gets through, as its caller repeats it. */
  async function untilDone(door: typeof use, estate: Estate): Promise<number> {
    for (let refused = 0; ; refused++) {
      try {
        await door(HASTY, estate)
        return refused
      } catch (error) {
        if (!(error instanceof ServiceError && error.code === 'unavailable')) throw error
      }
    }
  }

  // The fourth to the seventh open the cycle.
  test.each([2, 3, 4, 5, 6, 7, 8])('is followed by the caller’s next attempt: killed at transaction %i', async (n) => {
    const estate = await anEstate()
    const { sims, simId } = estate

    await expect(use(killedAt(n), estate)).rejects.toThrow('killed')
    await untilDone(use, estate)
    await use(HASTY, estate)

    expect(await largest(estate)).toBeLessThanOrEqual(2)
    expect(await contributing(estate)).toEqual(sims)
    expect(await counted(estate)).toEqual([{ cycle: NEXT, simId, bytes: 7 }])
  })

  test('is followed by a worker’s next job for the tenant', async () => {
    const estate = await anEstate()
    await expect(use(HASTY, estate)).rejects.toMatchObject({ code: 'unavailable' })

    await evaluateSubjects(HASTY, evaluationOptions(), estate.tenantId)

    expect(await isOpen(estate)).toBe(true)
    expect(await untilDone(use, estate)).toBe(0)
    expect(await largest(estate)).toBe(2)
  })

  test('leaves no cycle opened in part that has ended', async () => {
    const estate = await anEstate()
    const { tenantId, usage, simId } = estate
    const late = usage(simId, { recordId: 'late', at: '2026-10-20T12:00:00Z', bytesUp: 7 })
    await expect(recordUsage(HASTY, tenantId, [late])).rejects.toMatchObject({ code: 'unavailable' })
    expect(await isOpen(estate, '2026-10')).toBe(false)

    await evaluateSubjects(HASTY, evaluationOptions(), tenantId)

    expect(await isOpen(estate, '2026-10')).toBe(true)
    expect(await recordUsage(HASTY, tenantId, [late])).toMatchObject({ accepted: 1 })
    expect(await counted(estate)).toEqual([{ cycle: '2026-10', simId, bytes: 7 }])
  })
})

/** Sessions of this database in a transaction. */
async function atWork() {
  const { rows } = await sql`
    select from pg_stat_activity
     where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`.execute(store.db)
  return rows.length
}

test('all that come at once wait for one slice, and take one connection for it', async () => {
  const estate = await anEstate()
  const { tenantId, sims } = estate
  let asked = 0
  const counting: Store = {
    ...store,
    get opening() {
      asked += 1
      return IN_TWOS
    },
  }
  // Every transaction asks once, and those of the requests once more when they begin to wait.
  const come = 2 * sims.length

  const { all } = await inTenant(store, tenantId, async (tx) => {
    // No slice is opened before this transaction ends.
    await keepAsOpened(tx, [cycleAt('P1M', BOUNDARY)])
    const all = Promise.all(sims.map((id) => inTenant(counting, tenantId, (tx) => passOverSims(tx, { simIds: [id] }))))
    await until('all have come, and one slice waits', async () => asked > come && (await atWork()) === 2)
    return { all }
  })
  await all

  // Then three slices, the cycle's own row, and each of those that came once more.
  expect(asked).toBe(come + 4 + sims.length)
  expect(await largest(estate)).toBe(2)
  expect(await contributing(estate)).toEqual(sims)
})
