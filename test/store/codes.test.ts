import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import {
  type CodeTable,
  EventSeverity,
  EventType,
  LogLevel,
  OrderType,
  PoolStatus,
  PoolType,
  SimStatus,
  SimType,
  TariffType,
  TicketStatus,
  TicketType,
  WatchdogMode,
} from '../../domain/codes.ts'
import { SUBJECT_CODES } from '../../domain/watchdog/subject.ts'
import { aStore } from '../setup/estate.ts'

const store = await aStore()

/** Each column of codes, and the table of codes that constrains it. */
const COLUMNS: Readonly<Record<string, CodeTable>> = {
  'addresses.level': LogLevel,
  'alerts.subject_kind': SUBJECT_CODES,
  'due_subjects.subject_kind': SUBJECT_CODES,
  'events.severity': EventSeverity,
  'events.type': EventType,
  'notifications.level': LogLevel,
  'order_prices.type': OrderType,
  'orders.type': OrderType,
  'pools.status': PoolStatus,
  'pools.type': PoolType,
  'pools.watchdog_mode': WatchdogMode,
  'shadow_log.level': LogLevel,
  'silences.level': LogLevel,
  'sim_blocks.status': SimStatus,
  'sims.status': SimStatus,
  'sims.type': SimType,
  'sims.watchdog_mode': WatchdogMode,
  'tariffs.type': TariffType,
  'tenants.mails_from': LogLevel,
  'tickets.status': TicketStatus,
  'tickets.type': TicketType,
  'usage_buckets.subject_kind': SUBJECT_CODES,
  'watch_shards.subject_kind': SUBJECT_CODES,
  'watchdog_log.level': LogLevel,
  'would_suspend.subject_kind': SUBJECT_CODES,
}

describe('columns of codes', () => {
  test('take exactly the codes of their table', async () => {
    const { rows } = await sql<{ column: string; definition: string }>`
    select c.conrelid::regclass || '.' || a.attname as column, pg_get_constraintdef(c.oid) as definition
      from pg_constraint c
      join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any(c.conkey)
      join pg_type t on t.oid = a.atttypid
     where c.contype = 'c' and c.connamespace = 'public'::regnamespace and t.typname = 'int2'
       and c.conrelid::regclass::text || '.' || a.attname not in ('pools.warning_threshold_pct', 'sims.warning_threshold_pct')
     order by 1`.execute(store.db)

    const codesIn = (definition: string) => [...definition.matchAll(/\d+/g)].map(([code]) => Number(code))
    expect(Object.fromEntries(rows.map(({ column, definition }) => [column, codesIn(definition)]))).toEqual(
      Object.fromEntries(Object.entries(COLUMNS).map(([column, table]) => [column, Object.values(table)])),
    )
  })

  test('are all smallints except percentages and HTTP status', async () => {
    const { rows } = await sql<{ column: string }>`
    select table_name || '.' || column_name as column
      from information_schema.columns join information_schema.tables using (table_schema, table_name)
     where table_schema = 'public' and table_type = 'BASE TABLE' and data_type = 'smallint' order by 1`.execute(
      store.db,
    )

    const known = [
      ...Object.keys(COLUMNS),
      'idempotency_keys.status',
      'pools.warning_threshold_pct',
      'sims.warning_threshold_pct',
    ]
    expect(rows.map(({ column }) => column)).toEqual(known.toSorted())
  })
})
