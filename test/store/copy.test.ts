import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { isStorable } from '../../domain/text.ts'
import { copyInto, copyLine } from '../../store/copy.ts'
import { inTenant } from '../../store/tenancy.ts'
import { aStore, aTenant } from '../setup/estate.ts'

const store = await aStore()

const text = fc
  .oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\\N', '\\.', '\\', '\t', '\n', '\r\n', '', 'a\\tb'))
  .filter(isStorable)
const row = fc.tuple(fc.option(text), fc.option(fc.maxSafeInteger()), fc.option(fc.boolean()))

test('copyInto stores every value as it is', async () => {
  const tenantId = await aTenant(store)
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 20 }), async (rows) => {
      const stored = await inTenant(store, tenantId, async (tx) => {
        await sql`create temporary table copied (n integer, t text, b bigint, f boolean) on commit drop`.execute(tx.q)
        const lines = rows.map((values, n) => copyLine([n, ...values]))
        await copyInto(tx, 'copied', ['n', 't', 'b', 'f'], lines)
        return (await sql<{ t: string; b: number; f: boolean }>`select t, b, f from copied order by n`.execute(tx.q))
          .rows
      })

      expect(stored.map(({ t, b, f }) => [t, b, f])).toEqual(rows)
    }),
    { numRuns: 60 },
  )
})

test('copyInto fails like any statement, and the connection goes on', async () => {
  const tenantId = await aTenant(store)
  const copy = (line: string) =>
    inTenant(store, tenantId, async (tx) => {
      await sql`create temporary table copied (n integer) on commit drop`.execute(tx.q)
      await copyInto(tx, 'copied', ['n'], [line])
      return (await sql`select n from copied`.execute(tx.q)).rows
    })

  await expect(copy('no number\n')).rejects.toThrow(/invalid input syntax for type integer/)
  expect(await copy('1\n')).toEqual([{ n: 1 }])
})
