/** Events of earlier releases, which named their author. */
import { readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { connect } from '../../store/connect.ts'
import { freshDatabase } from '../setup/database.ts'

const MIGRATION = new URL('../../store/migrations/0035_nobody_in_events.sql', import.meta.url)

describe('migration 0035_nobody_in_events', () => {
  test('removes authors from platform events of rule sets', async () => {
    const { url, drop } = await freshDatabase()
    const { db, close } = connect(url, { max: 1 })
    const before = [
      [null, 'Rule set activated', 'Version 3 with 9 rule(s), by Ada Lovelace, at night.'],
      [null, 'Rule set rejected', '2 fault(s); the set before stays in force.'],
      [null, 'Watchdog rules kept: version 2', 'stays, by itself.'],
      ['t1', 'Rule set activated', 'A pool is called so, by Ada.'],
    ] as const
    try {
      for (const [tenant, title, description] of before) {
        await sql`insert into events (tenant_id, type, severity, title, description, at)
                values (${tenant}, 2, 0, ${title}, ${description}, now())`.execute(db)
      }

      await db.transaction().execute(async (tx) => sql.raw(await readFile(MIGRATION, 'utf8')).execute(tx))

      const { rows } = await sql<{ description: string }>`select description from events order by id`.execute(db)
      expect(rows.map(({ description }) => description)).toEqual([
        'Version 3 with 9 rule(s).',
        'stays, by itself.',
        'A pool is called so, by Ada.',
      ])
      const { rows: forced } =
        await sql`select 1 from pg_class where relname = 'events' and relforcerowsecurity`.execute(db)
      expect(forced).toHaveLength(1)
    } finally {
      await close()
      await drop()
    }
  })
})
