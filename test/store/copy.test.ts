import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { isStorable } from '../../domain/text.ts'
import type { CopiedRows } from '../../store/copied-rows.ts'
import { copyInto, copyLine, copyOf } from '../../store/copy.ts'
import { cases } from '../setup/cases.ts'
import { aStore, aTenantOf } from '../setup/estate.ts'

const { asTenant } = await aTenantOf(await aStore())

const text = fc
  .oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\\N', '\\.', '\\', '\t', '\n', '\r\n', '', 'a\\tb'))
  .filter(isStorable)
const row = fc.tuple(fc.option(text), fc.option(fc.maxSafeInteger()), fc.option(fc.boolean()))

test('copyInto stores every value as it is', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 20 }), async (rows) => {
      const stored = await asTenant(async (tx) => {
        await sql`create temporary table copied (n integer, t text, b bigint, f boolean) on commit drop`.execute(tx.q)
        const lines = rows.map((values, n) => copyLine([n, ...values]))
        await copyInto(tx, 'copied', ['n', 't', 'b', 'f'], lines)
        return (await sql<{ t: string; b: number; f: boolean }>`select t, b, f from copied order by n`.execute(tx.q))
          .rows
      })

      expect(stored.map(({ t, b, f }) => [t, b, f])).toEqual(rows)
    }),
    { numRuns: cases(60) },
  )
})

test('copyInto fails like any statement, and the connection goes on', async () => {
  const copy = (line: string) =>
    asTenant(async (tx) => {
      await sql`create temporary table copied (n integer) on commit drop`.execute(tx.q)
      await copyInto(tx, 'copied', ['n'], [line])
      return (await sql`select n from copied`.execute(tx.q)).rows
    })

  await expect(copy('no number\n')).rejects.toThrow(/invalid input syntax for type integer/)
  expect(await copy('1\n')).toEqual([{ n: 1 }])
})

const instant = fc.date({ min: new Date('1970-01-01'), max: new Date('2500-01-01'), noInvalidDate: true })
const copied = fc.tuple(
  fc.option(text),
  fc.option(fc.maxSafeInteger()),
  fc.option(fc.boolean()),
  fc.option(fc.integer({ min: -32_768, max: 32_767 })),
  fc.option(instant),
)
const valuesOf = (rows: CopiedRows) => {
  const orNull = <T>(field: number, read: (field: number) => T) => (rows.isNull(field) ? null : read(field))
  return [
    orNull(1, (field) => rows.text(field)),
    orNull(2, (field) => rows.bigint(field)),
    orNull(3, (field) => rows.boolean(field)),
    orNull(4, (field) => rows.smallint(field)),
    orNull(5, (field) => rows.instant(field)),
  ]
}

test('copyOf reads every value as it is, and again after it went back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(copied, { maxLength: 20 }), async (given) => {
      await asTenant(async (tx) => {
        await sql`
          create temporary table copied (n integer, t text, b bigint, f boolean, s smallint, at timestamptz)
              on commit drop`.execute(tx.q)
        const lines = given.map(([t, b, f, s, at], n) => copyLine([n, t, b, f, s, at?.toISOString() ?? null]))
        await copyInto(tx, 'copied', ['n', 't', 'b', 'f', 's', 'at'], lines)
        const rows = await copyOf(tx, sql`select * from copied order by n`)
        for (const _ of [1, 2]) {
          const found: unknown[] = []
          while (rows.next()) {
            expect(rows.integer(0)).toBe(found.length)
            found.push(valuesOf(rows))
          }
          expect(found).toEqual(given)
          rows.rewind()
        }
      })
    }),
    { numRuns: cases(60) },
  )
})

test('copyOf reads more than one block, and rows larger than a block', async () => {
  const lengths = await asTenant(async (tx) => {
    const rows = await copyOf(
      tx,
      sql`select n, repeat('x', case when n = 500 then 600000 else n end) from generate_series(1, 1200) n order by n`,
    )
    const found: number[] = []
    while (rows.next()) found.push(rows.text(1).length)
    return found
  })

  expect(lengths).toEqual(Array.from({ length: 1200 }, (_, n) => (n === 499 ? 600_000 : n + 1)))
})

test('copyOf fails like any statement, in the middle too, and the connection goes on', async () => {
  const copy = (zero: number) =>
    asTenant(async (tx) => {
      const rows = await copyOf(tx, sql`select 1 / (n - ${sql.lit(zero)}) from generate_series(1, 5000) n`)
      let count = 0
      while (rows.next()) count += 1
      return count
    })

  await expect(copy(4000)).rejects.toThrow(/division by zero/)
  await expect(asTenant((tx) => copyOf(tx, sql`select x`))).rejects.toThrow(/"x" does not exist/)
  expect(await copy(0)).toBe(5000)
})
