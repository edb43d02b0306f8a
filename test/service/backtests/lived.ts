/** The example month as the service has lived it, and what a replay of it comes to. */

import { sql } from 'kysely'
import { NO_LINKS } from '../../../adapters/channels/mail/links.ts'
import { mailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import { renderMail } from '../../../adapters/channels/mail/render-mail.ts'
import { WatchdogMode } from '../../../domain/codes.ts'
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
const render: Parameters<typeof replay>[2]['render'] = (told, isCopy) => renderMail(told, NO_LINKS, isCopy)
const HOUR = 3_600_000
/** Devices use so much more than in the example where less than the month is lived: its first hours have what else takes a month. */
const FASTER = 40
const fasterIn = (hours: number) => (hours * HOUR < EXAMPLE_MONTH.endsAt - EXAMPLE_MONTH.startsAt ? FASTER : 1)

/** Lives the example month on the real store, by the shipped rules, its pools in Monitor mode. @param onHour before its records */
export async function livedMonth(
  store: TestStore,
  hours: number,
  onHour?: (hour: number, harness: Harness, sims: ReadonlyMap<string, number>) => Promise<void>,
): Promise<Harness> {
  await activateRules(store, shipped, 'the tests')
  const harness = await aHarness(store)
  const month = exampleMonth()
  store.now = EXAMPLE_MONTH.startsAt + 1000
  const pools = month.estate.pools.map((pool) => ({ ...pool, watchdogMode: WatchdogMode.Monitor }))
  const sims = await settle(harness, { ...month, estate: { ...month.estate, pools } })
  const mailer = mailChannel(accepting)
  const player = openPlayer(store, harness.tenantId, { evaluation: evaluationOptions(), mailer })
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

/** Works on a connection of its own, as a replay does. */
export async function connected<T>(store: TestStore, work: (db: Db) => Promise<T>): Promise<T> {
  const { db, close } = connect(store.databaseUrl, { max: 1 })
  try {
    return await db.connection().execute(work)
  } finally {
    await close()
  }
}

/** Replays the example month. @returns also what rules did in it */
export const replayedMonth = (store: TestStore, tenantId: string, hours: number) =>
  connected(store, async (db) => {
    const { startsAt } = EXAMPLE_MONTH
    const endsAt = startsAt + hours * HOUR + HOUR / 2
    const rules = { version: 1, files: shipped }
    const replayed = await replay(db, { tenantId, billingCycle: 'P1M', startsAt, endsAt, rules }, replayOptions())
    return { replayed, came: await doneIn(db, tenantId) }
  })

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
