/**
 * Measures searches over SIMs: by field, length and hits, and of the statement that reads all SIMs of the tenant. Both
 * give the first 100 ids and the total, as the tenant's role. Then page 2 of searches with many hits, by number and by
 * cursor, with all that a list shows.
 *
 * Usage: node tools/bench/search.ts [--sims 1000000]. Exits with 1 if a search misses its target.
 */
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { type IndexedSearch, isIndexed, pageOfFound } from '../../service/sims/rows/search.ts'
import { pageOfSims } from '../../service/sims/rows/sim-reads.ts'
import { containing } from '../../store/paging.ts'
import { inTenant, type TenantTx, withLongTimeout } from '../../store/tenancy.ts'
import { anEstate } from './estate.ts'
import { inTurn, machine, median, spread } from './measure.ts'

const { values } = parseArgs({ options: { sims: { type: 'string', default: '1000000' } } })
const sims = Number(values.sims)
if (!Number.isInteger(sims) || sims < 1000) throw new Error(`--sims: got ${values.sims}, expected 1,000 or more`)

/** Few hits are at most as many as a page has. */
const FEW = 100
const FEW_MS = 50
/** A search with very many hits asks the index first, in vain. */
const DENSE = 1.25
const MANY = sims / 32
const PAGE = { page: 1, pageSize: 100 }

/** The statement without the index. */
async function readingAll(tx: TenantTx, { search }: IndexedSearch) {
  const like = containing(search)
  const from = sql`from sims s where s.tenant_id = ${tx.tenantId}
    and (s.iccid ilike ${like} or s.imsi ilike ${like} or s.msisdn ilike ${like} or s.tag ilike ${like})`
  const { rows } = await sql<{ ids: number[]; totalItems: number }>`
    select (select count(*) ${from})::integer as "totalItems",
           to_jsonb(array(select s.id ${from} order by s.id limit 100)) as ids`.execute(tx.q)
  return rows[0] ?? { ids: [], totalItems: 0 }
}

const estate = await anEstate(sims)
try {
  const store = withLongTimeout(estate.store)
  const inside = <T>(work: (tx: TenantTx) => Promise<T>) => inTenant(store, estate.tenantId, work)
  const { rows } = await inside((tx) =>
    sql<{ iccid: string; imsi: string; msisdn: string; tag: string }>`
      select iccid, imsi, msisdn, tag from sims order by id offset ${Math.floor(sims * 0.7)} limit 1`.execute(tx.q),
  )
  const [sim] = rows
  if (sim === undefined) throw new Error('the estate has no SIM')
  const searches: readonly (readonly [string, string])[] = [
    ['ICCID, whole', sim.iccid],
    ['ICCID, last 8', sim.iccid.slice(-8)],
    ['ICCID, last 5', sim.iccid.slice(-5)],
    ['IMSI, whole', sim.imsi],
    ['IMSI, last 6', sim.imsi.slice(-6)],
    ['MSISDN, whole', sim.msisdn],
    ['MSISDN, last 4', sim.msisdn.slice(-4)],
    ['tag, whole', sim.tag],
    ['tag, one of 40', 'hall 17'],
    ['tag, every SIM', 'METER'],
    ['ICCID, every SIM', '8944'],
    ['three digits', sim.iccid.slice(-3)],
    ['nothing', 'no such text'],
  ]
  console.log(
    `${machine()}\n${sims} SIMs of the tenant, a tenth as many of another; milliseconds, median of 5 (least–most)\n`,
  )
  console.log('| search | hits | index | all SIMs read | ratio | target | |')
  console.log('|---|---|---|---|---|---|---|')
  for (const [name, search] of searches) {
    const filter = { search }
    if (!isIndexed(filter)) throw new Error(`${search} is not served by the index`)
    const ours = () => inside(async (tx) => (await pageOfFound(tx, filter, PAGE)) ?? readingAll(tx, filter))
    const theirs = () => inside((tx) => readingAll(tx, filter))
    const [found, expected] = [await ours(), await theirs()]
    if (found.totalItems !== expected.totalItems || found.ids.join() !== expected.ids.join())
      throw new Error(`${name}: the two find different SIMs`)
    const took = await inTurn(ours, theirs)
    const [mine, other] = [median(took.ours), median(took.theirs)]
    const few = found.totalItems <= FEW
    const most = found.totalItems > MANY ? DENSE : 1
    const missed = mine > other * most || (few && mine > FEW_MS)
    if (missed) process.exitCode = 1
    const target = few ? `≤ ${FEW_MS} ms, ≤ 1` : `≤ ${most}`
    console.log(
      `| ${name} | ${found.totalItems} | ${spread(took.ours)} | ${spread(took.theirs)} | ${(mine / other).toFixed(3)} | ${target} | ${missed ? 'missed' : ''} |`,
    )
  }

  console.log('\n| page 2 | hits | by cursor | by number | ratio | target | |')
  console.log('|---|---|---|---|---|---|---|')
  for (const search of ['hall 17', 'METER', '8944']) {
    const first = await inside((tx) => pageOfSims(tx, { search }))
    const byCursor = () => inside((tx) => pageOfSims(tx, { search, cursor: first.next ?? '' }))
    const byNumber = () => inside((tx) => pageOfSims(tx, { search, page: 2 }))
    const ids = (part: Awaited<ReturnType<typeof byCursor>>) => part.data.map(({ id }) => id).join()
    if (ids(await byCursor()) !== ids(await byNumber())) throw new Error(`${search}: page 2 differs`)
    const took = await inTurn(byCursor, byNumber)
    const ratio = median(took.ours) / median(took.theirs)
    if (ratio > 1) process.exitCode = 1
    console.log(
      `| ${search} | ${first.pagination.totalItems} | ${spread(took.ours)} | ${spread(took.theirs)} | ${ratio.toFixed(3)} | ≤ 1 | ${ratio > 1 ? 'missed' : ''} |`,
    )
  }
} finally {
  await estate.close()
}
