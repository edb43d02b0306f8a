import { sql } from 'kysely'
import { expect, test } from 'vitest'
import * as codes from '../../domain/codes.ts'
import { aGround } from '../setup/estate.ts'

const ground = await aGround()

/** Every column that holds a code, and the table it is from. */
const COLUMNS: Readonly<Record<string, codes.CodeTable>> = {
  'events.severity': codes.EventSeverity,
  'events.type': codes.EventType,
  'notifications.level': codes.LogLevel,
  'pools.status': codes.PoolStatus,
  'pools.type': codes.PoolType,
  'pools.watchdog_mode': codes.WatchdogMode,
  'sims.status': codes.SimStatus,
  'sims.type': codes.SimType,
  'sims.watchdog_mode': codes.WatchdogMode,
  'tariffs.type': codes.TariffType,
  'tickets.status': codes.TicketStatus,
  'tickets.type': codes.TicketType,
  'watchdog_log.level': codes.LogLevel,
}

test('every code column takes exactly the codes of its table', async () => {
  const { rows } = await sql<{ column: string; definition: string }>`
    select c.conrelid::regclass::text || '.' || a.attname as column, pg_get_constraintdef(c.oid) as definition
      from pg_constraint c
      join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any(c.conkey)
     where c.contype = 'c' and c.connamespace = 'public'::regnamespace and a.atttypid = 'smallint'::regtype
       and pg_get_constraintdef(c.oid) like '%ANY%' and a.attname <> 'subject_kind'`.execute(ground.db)

  const taken = Object.fromEntries(
    rows.map(({ column, definition }) => [column, [...definition.matchAll(/\d+/g)].map(([code]) => Number(code))]),
  )
  expect(taken).toEqual(
    Object.fromEntries(Object.entries(COLUMNS).map(([name, table]) => [name, Object.values(table)])),
  )
})
