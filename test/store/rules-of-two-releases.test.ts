/** Processes of the release before, which went by `rule_sets.active`, beside those of this one. */
import { sql } from 'kysely'
import { afterAll, expect, test } from 'vitest'
import { connect } from '../../store/connect.ts'
import { migrate } from '../../store/migrate.ts'
import { readMigrationFiles } from '../../store/migration-files.ts'
import { inPlatform } from '../../store/tenancy.ts'
import { activateVersion, activeRuleVersion, earlierRuleVersions } from '../../store/watchdog/rule-sets.ts'
import { emptyDatabase } from '../setup/database.ts'

const closing: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const end of closing.toReversed()) await end()
})

/** A database of the release before with three versions, of which the second is in force. */
async function aDatabase() {
  const { url, drop } = await emptyDatabase()
  closing.push(drop)
  const files = (await readMigrationFiles()).filter(({ name }) => name < '0086')
  await migrate(url, { files })
  const { db, close } = connect(url, { max: 2 })
  closing.push(close)
  await sql`
    insert into rule_sets (hash, rules, author, created_at, activated_at, active)
    values ('a', '[]', 'Ann', '2026-11-01Z', '2026-11-01Z', false), ('b', '[]', 'Bob', '2026-11-02Z', '2026-11-02Z', true),
           ('c', '[]', 'Cy', '2026-11-03Z', null, false)`.execute(db)
  const store = { db, clock: () => Date.parse('2026-11-20T12:00:00Z'), enqueue: () => undefined }
  return {
    url,
    inForce: () => inPlatform(store, activeRuleVersion),
    earlier: () => inPlatform(store, earlierRuleVersions),
    activate: (version: number) =>
      inPlatform(store, (tx) => activateVersion(tx, version, { author: 'Ann', reason: null })),
    /** As the release before activates. */
    activateBefore: (version: number) =>
      inPlatform(store, async (tx) => {
        await sql`update rule_sets set active = false where active`.execute(tx.q)
        await sql`update rule_sets set active = true, activated_at = ${tx.now} where version = ${version}`.execute(tx.q)
      }),
    inForceBefore: async () =>
      (await sql<{ version: number }>`select version from rule_sets where active`.execute(db)).rows,
  }
}

test('both releases go by the version that either has put in force', async () => {
  const { url, inForce, earlier, activate, activateBefore, inForceBefore } = await aDatabase()
  await migrate(url, { contract: false })
  expect([await inForce(), await earlier()]).toEqual([2, [1]])

  await activate(3)
  expect([await inForce(), await inForceBefore()]).toEqual([3, [{ version: 3 }]])
  await activateBefore(1)
  expect([await inForce(), await inForceBefore()]).toEqual([1, [{ version: 1 }]])
  await activate(2)
  expect([await inForce(), await inForceBefore()]).toEqual([2, [{ version: 2 }]])

  await migrate(url)
  await activate(3)
  expect([await inForce(), await earlier()]).toEqual([3, [2, 1]])
})
