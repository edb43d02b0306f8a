/** The example month as the service has lived it, and what a replay of it comes to. */

import { sql } from 'kysely'
import { mailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import { renderMail } from '../../../adapters/channels/mail/render-mail.ts'
import type { WatchdogMode } from '../../../domain/codes.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { openPlayer } from '../../../service/backtests/open-player.ts'
import { replay } from '../../../service/backtests/replay.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { connect } from '../../../store/connect.ts'
import type { Db } from '../../../store/tenancy.ts'
import { accepting } from '../../setup/accepting.ts'
import type { TestStore } from '../../setup/estate.ts'
import { EXAMPLE_MONTH, exampleMonth } from '../example-month.ts'
import { aHarness, evaluationOptions, type Harness } from '../harness.ts'
import { settle, usageOf } from '../lived-month.ts'

const shipped = await readRuleFiles('')
const render: Parameters<typeof replay>[2]['render'] = (told, isCopy) => renderMail(told, null, isCopy)
const HOUR = 3_600_000
/** Devices use so much more than in the example where less than the month is lived: its first hours have what else takes a month. */
const FASTER = 40
const fasterIn = (hours: number) => (hours * HOUR < EXAMPLE_MONTH.endsAt - EXAMPLE_MONTH.startsAt ? FASTER : 1)

export interface LivedOptions {
  /** Of all pools. Default: as in the example. */
  readonly mode?: WatchdogMode
  /** Called before the records of an hour of the month are received. */
  readonly onHour?: (hour: number, harness: Harness, sims: ReadonlyMap<string, number>) => Promise<void>
  /** Hours to live. */
  readonly hours: number
}

/** Lives the example month on the real store, by the shipped rules. */
export async function livedMonth(store: TestStore, { mode, onHour, hours }: LivedOptions): Promise<Harness> {
  await activateRules(store, shipped, 'the tests')
  const harness = await aHarness(store)
  const month = exampleMonth()
  store.now = EXAMPLE_MONTH.startsAt + 1000
  const estate =
    mode === undefined
      ? month.estate
      : { ...month.estate, pools: month.estate.pools.map((pool) => ({ ...pool, watchdogMode: mode })) }
  const sims = await settle(harness, { ...month, estate })
  const player = openPlayer(store, harness.tenantId, {
    evaluation: evaluationOptions(),
    mailer: mailChannel(accepting),
  })
  await player.work()
  for (const { at, records } of month.steps.slice(0, hours)) {
    await player.moveTo(at)
    await onHour?.((at - EXAMPLE_MONTH.startsAt) / HOUR, harness, sims)
    if (records.length > 0)
      await harness.record(records.map((one) => usageOf({ ...one, bytes: one.bytes * fasterIn(hours) })))
    await player.work()
  }
  await player.moveTo(EXAMPLE_MONTH.startsAt + hours * HOUR + HOUR / 2)
  return harness
}

/** Replays the example month. @param read reads from the connection what came of it */
export async function replayedMonth<T>(
  store: TestStore,
  tenantId: string,
  hours: number,
  read: (db: Db) => Promise<T>,
) {
  const { db, close } = connect(store.databaseUrl, { max: 1 })
  try {
    return await db.connection().execute(async (one) => {
      const question = {
        tenantId,
        billingCycle: 'P1M',
        startsAt: EXAMPLE_MONTH.startsAt,
        endsAt: EXAMPLE_MONTH.startsAt + hours * HOUR + HOUR / 2,
        rules: { version: 1, files: shipped },
      }
      const replayed = await replay(one, question, { evaluation: evaluationOptions(), render })
      return { replayed, came: await read(one) }
    })
  } finally {
    await close()
  }
}

/** What rules have done: entries, mails and suspensions. */
export async function doneIn(db: Db, tenantId: string) {
  const entries = await sql`
    select dedupe_key as key, at, rule, level, sim_id, pool_id, cycle_key, message
      from watchdog_log where tenant_id = ${tenantId} order by at, dedupe_key`.execute(db)
  const mails = await sql`
    select created_at as at, recipient, subject, status, kind from deliveries where mail_id is not null and tenant_id = ${tenantId}
     order by created_at, subject`.execute(db)
  const suspensions = await sql`
    select sim_id, rule, cause, until, opened_at, closed_at from suspensions where tenant_id = ${tenantId}
     order by opened_at, sim_id`.execute(db)
  return { entries: entries.rows, mails: mails.rows, suspensions: suspensions.rows }
}

/** What a replay runs with. */
export const replayOptions = (): Parameters<typeof replay>[2] => ({ evaluation: evaluationOptions(), render })

/** A digest of the rows of every table. */
export async function digestsOf({ db }: TestStore): Promise<Record<string, string>> {
  const { rows: tables } = await sql<{ name: string }>`
    select relname as name from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`.execute(db)
  const digests: Record<string, string> = {}
  for (const { name } of tables) {
    const { rows } = await sql<{ digest: string | null }>`
      select md5(string_agg(t::text, ',' order by t::text)) as digest from ${sql.table(name)} t`.execute(db)
    digests[name] = rows[0]?.digest ?? ''
  }
  return digests
}
