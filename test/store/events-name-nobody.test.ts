/** Events of earlier releases, which named their author, or a rule set that a build refuses. */
import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { connect } from '../../store/connect.ts'
import { freshDatabase } from '../setup/database.ts'

/** Tenant, title and description of an event. */
type Event = readonly [string | null, string, string]

/** Runs a migration anew on these events. @returns the descriptions that are left */
async function left(migration: string, events: readonly Event[]): Promise<string[]> {
  const file = new URL(`../../store/migrations/${migration}.sql`, import.meta.url)
  const { url, drop } = await freshDatabase()
  const { db, close } = connect(url, { max: 1 })
  try {
    for (const [tenant, title, description] of events) {
      await sql`insert into events (tenant_id, type, severity, title, description, at)
                values (${tenant}, 2, 0, ${title}, ${description}, now())`.execute(db)
    }
    await db.transaction().execute(async (tx) => sql.raw(await readFile(file, 'utf8')).execute(tx))
    const { rows: forced } = await sql`select 1 from pg_class where relname = 'events' and relforcerowsecurity`.execute(
      db,
    )
    expect(forced).toHaveLength(1)
    const { rows } = await sql<{ description: string }>`select description from events order by id`.execute(db)
    return rows.map(({ description }) => description)
  } finally {
    await close()
    await drop()
  }
}

describe('migration 0035_nobody_in_events', () => {
  test('removes authors from platform events of rule sets', async () => {
    const descriptions = await left('0035_nobody_in_events', [
      [null, 'Rule set activated', 'Version 3 with 9 rule(s), by Ada Lovelace, at night.'],
      [null, 'Rule set rejected', '2 fault(s); the set before stays in force.'],
      [null, 'Watchdog rules kept: version 2', 'stays, by itself.'],
      ['t1', 'Rule set activated', 'A pool is called so, by Ada.'],
    ])

    expect(descriptions).toEqual(['Version 3 with 9 rule(s).', 'stays, by itself.', 'A pool is called so, by Ada.'])
  })
})

describe('migration 0080_no_rule_sets_in_events', () => {
  test('removes platform events of refused sets and of how rules are evaluated', async () => {
    const descriptions = await left('0080_no_rule_sets_in_events', [
      [null, 'Rule set activated', 'Version 3 with 9 rule(s).'],
      [null, 'Watchdog rules kept: version 2', 'This version of the service does not accept version 3 of the rules.'],
      [null, 'Watchdog rules kept: none is evaluated', 'Nor version 1.'],
      [null, 'Watchdog rule sim-overage is decided the slow way', 'The compiled form differs.'],
      ['t1', 'Watchdog rules kept: version 2', 'Of a tenant itself.'],
    ])

    expect(descriptions).toEqual(['Version 3 with 9 rule(s).', 'Of a tenant itself.'])
  })
})
