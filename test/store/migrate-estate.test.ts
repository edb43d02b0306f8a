/** An estate of release 0.1.0 is migrated while usage comes in: no figure changes by a byte. */
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { cycleAt } from '../../domain/time/cycle.ts'
import { connect } from '../../store/connect.ts'
import { migrate } from '../../store/migrate.ts'
import { readAllFiles } from '../../store/migration-files.ts'
import { inTenant } from '../../store/tenancy.ts'
import { wrongSums } from '../../store/usage/check-sums.ts'
import { poolFigures, simFigures } from '../../store/usage/figures.ts'
import { emptyDatabase } from '../setup/database.ts'

/** `ESTATE=100000` takes about half a minute. */
const SIMS = Number(process.env.ESTATE ?? 3000)
const SIMS_A_POOL = 50
const TENANT = 'meadow'
/** The last migration of release 0.1.0. */
const LAST = '0040_zzz'
const MB = 1_000_000

const cycle = cycleAt('P1M', Date.now())
const pools = Math.ceil(SIMS / SIMS_A_POOL)
/** Usage comes in for every other pool. */
const isUsed = (poolId: number) => poolId % 2 === 0

/** Pools of the three kinds of tariffs, and SIMs that have used up to twice their allowance. Nine of ten contribute. */
const ESTATE = [
  `insert into tenants (id, name, billing_email, billing_cycle, created_at, updated_at)
   values ('${TENANT}', 'Meadow', 'billing@meadow.example', 'P1M', now(), now())`,
  `insert into tariffs (tenant_id, display_name, description, type, allowance_bytes, sim_monthly_fee, fixed_bucket_cost,
                        sms_fee, voice_fee, overage_fee_per_gb, created_at)
   select '${TENANT}', 'tariff ' || type, '', type, case type when 2 then ${SIMS_A_POOL} else 1 end * ${MB}, 0, 0, 0, 0, 0, now()
     from generate_series(0, 2) as t(type) order by type`,
  `insert into pools (name, type, tariff_id, watchdog_mode, created_at, updated_at, activated_at)
   select 'pool ' || n, case when t.type = 1 then 1 else 0 end, t.id, 1, now(), now(), now()
     from generate_series(1, ${pools}) as p(n) join tariffs t on t.type = p.n % 3 order by n`,
  `insert into sims (iccid, type, status, status_since, pool_id, provisioned_at, created_at, updated_at)
   select (8944500000000000000 + n)::text, 0, 1, now(), 1 + n / ${SIMS_A_POOL}, now(), now(), now()
     from generate_series(0, ${SIMS - 1}) as s(n) order by n`,
  `insert into memberships (sim_id, pool_id, from_at) select id, pool_id, now() from sims order by id`,
  `insert into active_spans (sim_id, from_at) select id, now() from sims order by id`,
  `insert into cycles (key, starts_at, ends_at, opened_at)
   values ('${cycle.key}', '${new Date(cycle.startsAt).toISOString()}', '${new Date(cycle.endsAt).toISOString()}', now())`,
  `insert into usage_ledger (cycle_key, sim_id, pool_id, contributing, bytes)
   select '${cycle.key}', id, pool_id, id % 10 > 0, abs(hashtext(id::text)) % ((pool_id % 4) * ${MB} + 1) from sims order by id`,
  `insert into pool_cycles (cycle_key, pool_id, bytes, contributing)
   select cycle_key, pool_id, sum(bytes), count(*) filter (where contributing) from usage_ledger group by 1, 2 order by 2`,
]

interface Figure {
  readonly id: number
  readonly bytes: number
  readonly limit: number
  readonly remaining: number
  readonly overage: number
}

/** What release 0.1.0 shows, of all pools and SIMs: it divides first, and then reads what it has divided. */
async function figuresBefore(client: pg.Client): Promise<{ readonly pools: Figure[]; readonly sims: Figure[] }> {
  await client.query('select divide_overage($1, array(select pool_id from pool_cycles))', [cycle.key])
  const read = async (text: string): Promise<Figure[]> =>
    (await client.query<Record<keyof Figure, string>>(text)).rows.map(({ id, bytes, limit, remaining, overage }) => ({
      id: Number(id),
      bytes: Number(bytes),
      limit: Number(limit),
      remaining: Number(remaining),
      overage: Number(overage),
    }))
  return {
    pools: await read(
      `select pool_id as id, bytes, limit_bytes as limit, remaining_bytes as remaining, overage_bytes as overage
         from pool_cycles order by 1`,
    ),
    sims: await read(
      `select sim_id as id, bytes, limit_bytes as limit, greatest(0, limit_bytes - bytes) as remaining,
              overage_bytes as overage from ledger_figures order by 1`,
    ),
  }
}

/** Counts usage as release 0.1.0 does, a SIM at a time, until it is told to stop. @returns bytes counted, by SIM */
function startUsage(url: string) {
  const stopping = new AbortController()
  const run = async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(`select set_config('app.tenant', '${TENANT}', false)`)
    const counted = new Map<number, number>()
    for (let n = 0; !stopping.signal.aborted || n < 100; n++) {
      const simId = 1 + ((n * 7919) % SIMS)
      const poolId = 1 + Math.floor((simId - 1) / SIMS_A_POOL)
      if (!isUsed(poolId)) continue
      await client.query('begin')
      await client.query('select from pool_cycles where cycle_key = $1 and pool_id = $2 for update', [
        cycle.key,
        poolId,
      ])
      await client.query(
        'update usage_ledger set bytes = bytes + $1 where cycle_key = $2 and sim_id = $3 and pool_id = $4',
        [n, cycle.key, simId, poolId],
      )
      await client.query(
        `update pool_cycles set bytes = bytes + $1, usage_version = usage_version + 1
          where cycle_key = $2 and pool_id = $3`,
        [n, cycle.key, poolId],
      )
      await client.query('commit')
      counted.set(simId, (counted.get(simId) ?? 0) + n)
    }
    await client.end()
    return counted
  }
  const running = run()
  return {
    stop: () => {
      stopping.abort()
      return running
    },
  }
}

describe('migrating an estate', () => {
  test(`of ${SIMS} SIMs while usage comes in changes no figure by a byte`, { timeout: 600_000 }, async () => {
    const database = await emptyDatabase()
    const client = new pg.Client({ connectionString: database.url })
    const files = await readAllFiles()
    await migrate(database.url, {
      files: files.filter(({ name }) => name <= LAST),
    })
    await client.connect()
    await client.query(`select set_config('app.tenant', '${TENANT}', false)`)
    for (const statement of ESTATE) await client.query(statement)
    // As autovacuum has in a database that lives.
    await client.query('analyze')
    const before = await figuresBefore(client)
    await client.end()

    const usage = startUsage(database.url)
    await migrate(database.url)
    const counted = await usage.stop()

    const { db, close } = connect(database.url, { max: 1, answerMs: 0 })
    const store = { db, clock: Date.now, enqueue: () => undefined }
    const after = await inTenant(store, TENANT, async (tx) => ({
      pools: await poolFigures(
        tx,
        cycle.key,
        before.pools.map(({ id }) => id),
      ),
      sims: await simFigures(
        tx,
        cycle.key,
        before.sims.map(({ id }) => id),
      ),
      wrong: await wrongSums(tx),
    }))
    await close()
    await database.drop()

    const shown = (id: number, of: Awaited<typeof after>['pools']) => {
      const figures = of.get(id)
      return figures === undefined
        ? undefined
        : {
            id,
            bytes: figures.usageBytes,
            limit: figures.limitBytes,
            remaining: figures.remainingBytes,
            overage: figures.overageBytes,
          }
    }
    const poolOf = (simId: number) => 1 + Math.floor((simId - 1) / SIMS_A_POOL)
    expect(after.wrong).toEqual([])
    expect(before.pools.filter(({ overage }) => overage > 0).length).toBeGreaterThan(pools / 5)
    const calm = before.pools.filter(({ id }) => !isUsed(id))
    expect(calm.map(({ id }) => shown(id, after.pools))).toEqual(calm)
    const calmSims = before.sims.filter(({ id }) => !isUsed(poolOf(id)))
    expect(calmSims.map(({ id }) => shown(id, after.sims))).toEqual(calmSims)
    // Where usage has come in: what was there and what came, and the SIMs' overage is the pool's.
    expect(counted.size).toBeGreaterThan(10)
    for (const { id, bytes } of before.sims) {
      expect(after.sims.get(id)?.usageBytes, `SIM ${id}`).toBe(bytes + (counted.get(id) ?? 0))
    }
    for (const { id } of before.pools) {
      const mine = before.sims.filter((sim) => poolOf(sim.id) === id)
      const sum = mine.reduce((total, sim) => total + (after.sims.get(sim.id)?.overageBytes ?? 0), 0)
      expect(sum, `pool ${id}`).toBe(after.pools.get(id)?.overageBytes)
    }
  })
})
