/** The rules that a worker puts in force at the first start. */
import { sql } from 'kysely'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { activateFirstRules, sourceOf } from '../../../process/rule-files.ts'
import { loadStoredRules } from '../../../rules/load/load-rule-set.ts'
import { activeRuleSet, lockRules, storeRuleSet } from '../../../service/rules/rows/rule-sets.ts'
import { putInForce } from '../../../service/rules/rules-in-force.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { soon } from '../../setup/soon.ts'
import { asShipped, only } from '../watchdog/alert-world.ts'

const SHIPPED = only({ 'sim-overage': asShipped, 'sim-silent': asShipped })
const OPERATORS = only({ 'sim-overage': asShipped })
const silent = pino({ level: 'silent' })

test('are not put in the place of those that an operator loads meanwhile', async () => {
  const store = await aStore()
  const waitsForRules = async () => {
    const { rows } = await sql`
      select from pg_locks l join pg_database d on d.oid = l.database
       where d.datname = current_database() and locktype = 'advisory' and not granted`.execute(store.db)
    return rows.length
  }
  let first: Promise<boolean> | undefined
  await inPlatform(store, async (tx) => {
    await lockRules(tx)
    first = activateFirstRules(store, { files: SHIPPED }, silent)
    await soon(async () => expect(await waitsForRules()).toBe(1))
    const { rules } = await loadStoredRules(OPERATORS)
    const { version } = await storeRuleSet(tx, OPERATORS, { author: 'Ann' })
    await putInForce(tx, { version, rules }, { author: 'Ann' })
  })

  expect(await first).toBe(true)
  expect(await inPlatform(store, activeRuleSet)).toMatchObject({ author: 'Ann', files: OPERATORS })
})

test('are not put in force with a file that is not UTF-8', async () => {
  const store = await aStore()
  const lines: string[] = []
  const log = pino({}, { write: (line) => void lines.push(line) })
  const latin1 = sourceOf('sim/latin.json', Buffer.from('{\n"name": "Zürich"}', 'latin1'))

  expect(await activateFirstRules(store, { files: [...SHIPPED, latin1] }, log)).toBe(false)
  expect(lines[0]).toContain('sim/latin.json#: line 2, column 1: ')
  expect(lines[0]).toContain('is not UTF-8')
})

test('are put in force by several workers once', async () => {
  const store = await aStore()
  expect(await Promise.all([1, 2, 3].map(() => activateFirstRules(store, { files: SHIPPED }, silent)))).toEqual([
    true,
    true,
    true,
  ])
  const { rows } = await sql`select from rule_activations`.execute(store.db)
  expect(rows).toHaveLength(1)
})
