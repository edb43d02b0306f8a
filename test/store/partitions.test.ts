import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { recordUsage } from '../../operations/record-usage.ts'
import { ensurePartitions } from '../../store/partitions.ts'
import { inTenant } from '../../store/tenancy.ts'
import { aGround, aTenant, someSims } from '../setup/estate.ts'

const ground = await aGround('2026-12-10T12:00:00Z')

const storedIn = async () => {
  const { rows } = await sql<{ part: string }>`
    select tableoid::regclass::text as part from usage_records order by at`.execute(ground.db)
  return rows.map(({ part }) => part)
}

test('usage records go to the partition of their month, made ahead, and no month is lost', async () => {
  const tenantId = await aTenant(ground)
  const [sim] = await inTenant(ground, tenantId, (tx) => someSims(tx, 1))
  const record = (at: string) => ({ recordId: at, simId: sim?.id, at, bytesUp: 1 })

  const [first, atOnce] = await Promise.all([
    ensurePartitions(ground.db, ground.now),
    ensurePartitions(ground.db, ground.now),
  ])
  const again = await ensurePartitions(ground.db, ground.now)
  await recordUsage(
    ground,
    tenantId,
    ['2026-03-01T00:00:00Z', '2026-11-30T23:59:59Z', '2026-12-01T00:00:00Z'].map(record),
  )

  expect([...first, ...atOnce].toSorted()).toEqual([
    'usage_records_2026_11',
    'usage_records_2026_12',
    'usage_records_2027_01',
    'usage_records_2027_02',
  ])
  expect(again).toEqual([])
  expect(await storedIn()).toEqual(['usage_records_default', 'usage_records_2026_11', 'usage_records_2026_12'])
})

test('records that came before their partition are moved into it, and are still known as sent', async () => {
  const tenantId = await aTenant(ground)
  const [sim] = await inTenant(ground, tenantId, (tx) => someSims(tx, 1))
  const record = { recordId: 'early', simId: sim?.id, at: '2026-03-02T00:00:00Z', bytesUp: 1 }
  await recordUsage(ground, tenantId, [record])

  const made = await ensurePartitions(ground.db, Date.parse('2026-03-15T00:00:00Z'))
  const again = await recordUsage(ground, tenantId, [record])

  expect(made).toContain('usage_records_2026_03')
  expect(await storedIn()).not.toContain('usage_records_default')
  expect(again).toMatchObject({ accepted: 0, duplicates: 1 })
})
