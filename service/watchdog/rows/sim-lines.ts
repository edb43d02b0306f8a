/**
 * Reads SIMs for a look at all of a range: by COPY, without an object for each. A single object shows one SIM after the
 * other, and makes texts and instants only on demand.
 */
import { sql } from 'kysely'
import { SimStatus, SimType, WatchdogMode } from '../../../domain/codes.ts'
import type { SimRow } from '../../../rules/fact-rows.ts'
import type { CopiedRows } from '../../../store/copied-rows.ts'
import { copyOf } from '../../../store/copy.ts'
import { byKey, mineAfter } from '../../../store/keyset-pages.ts'
import { mine, type TenantTx } from '../../../store/tenancy.ts'
import { simColumns } from '../../sims/rows/sims.ts'
import { type Range, SEEN, SUSPENSION } from './facts.ts'

type Own = Omit<SimRow, 'pool' | 'tariffType' | 'fees'>

const COLUMNS = sql`
  s.id, ${simColumns()}, s.status_since, ${SEEN.imei}, ${SEEN.deviceChanges}, ${SEEN.deviceChangedAt},
  ${SEEN.lastSeenAt}, ${SEEN.country}, ${SEEN.mccMnc}, ${SEEN.rat}, ${SEEN.countryChangedAt}, ${SUSPENSION},
  l.pool_id, l.tariff_id, l.contributing, l.bytes, l.voice_seconds, l.sms_count, l.sessions`

/** Numbers of the columns. Those of `simColumns` are in its order. */
const AT = {
  id: 0,
  iccid: 1,
  tag: 2,
  type: 3,
  status: 4,
  poolId: 5,
  tariffId: 6,
  exempt: 7,
  watchdogMode: 8,
  warningThresholdPct: 9,
  enableBurnRateAlerts: 10,
  statusSince: 11,
  imei: 12,
  deviceChanges: 13,
  deviceChangedAt: 14,
  lastSeenAt: 15,
  country: 16,
  mccMnc: 17,
  rat: 18,
  countryChangedAt: 19,
  suspension: 20,
  ledgerPoolId: 21,
  ledgerTariffId: 22,
  contributing: 23,
  bytes: 24,
  voiceSeconds: 25,
  smsCount: 26,
  sessions: 27,
} as const

/** Makes the function that takes a number for one of a table's codes. */
function codeIn<Code extends number>(codes: readonly Code[]): (code: number) => Code {
  const known: Code[] = []
  for (const code of codes) known[code] = code
  return (code) => {
    const found = known[code]
    if (found === undefined) throw new Error(`got the code ${code}, expected one of ${codes.join(', ')}`)
    return found
  }
}
const statusOf = codeIn(Object.values(SimStatus))
const typeOf = codeIn(Object.values(SimType))
const modeOf = codeIn(Object.values(WatchdogMode))

/** Calls `seen` for each line, with the data read next to the lines. Rewinds the rows at the end. */
export function eachLine(
  rows: CopiedRows,
  seen: (simId: number, poolId: number | null, tariffId: number | null, ledgerTariffId: number | null) => void,
): void {
  const integer = (field: number) => (rows.isNull(field) ? null : rows.integer(field))
  while (rows.next()) seen(rows.bigint(AT.id), integer(AT.poolId), integer(AT.tariffId), integer(AT.ledgerTariffId))
  rows.rewind()
}

/** The present line: a SIM next to one of its ledger rows. A SIM has a line for each, or one line without any. */
export class SimLine implements Own {
  readonly #rows: CopiedRows
  simId = 0
  status: SimStatus = SimStatus.Unprovisioned
  poolId: number | null = null
  tariffId: number | null = null
  exempt = false
  watchdogMode: WatchdogMode | null = null
  warningThresholdPct: number | null = null
  enableBurnRateAlerts: boolean | null = null
  /** Pool of the ledger row, 0 outside pools; null without a row. */
  ledgerPoolId: number | null = null
  /** Of the ledger row, as all below. 0 and false without one. */
  ledgerTariffId: number | null = null
  contributing = false
  bytes = 0
  voiceSeconds = 0
  smsCount = 0
  sessions = 0

  constructor(rows: CopiedRows) {
    this.#rows = rows
  }

  next(): boolean {
    const rows = this.#rows
    if (!rows.next()) return false
    const integer = (field: number) => (rows.isNull(field) ? null : rows.integer(field))
    this.simId = rows.bigint(AT.id)
    this.status = statusOf(rows.smallint(AT.status))
    this.poolId = integer(AT.poolId)
    this.tariffId = integer(AT.tariffId)
    this.exempt = rows.boolean(AT.exempt)
    this.watchdogMode = rows.isNull(AT.watchdogMode) ? null : modeOf(rows.smallint(AT.watchdogMode))
    this.warningThresholdPct = rows.isNull(AT.warningThresholdPct) ? null : rows.smallint(AT.warningThresholdPct)
    this.enableBurnRateAlerts = rows.isNull(AT.enableBurnRateAlerts) ? null : rows.boolean(AT.enableBurnRateAlerts)
    this.ledgerPoolId = integer(AT.ledgerPoolId)
    this.ledgerTariffId = integer(AT.ledgerTariffId)
    const hasRow = this.ledgerPoolId !== null
    this.contributing = hasRow && rows.boolean(AT.contributing)
    this.bytes = hasRow ? rows.bigint(AT.bytes) : 0
    this.voiceSeconds = hasRow ? rows.bigint(AT.voiceSeconds) : 0
    this.smsCount = hasRow ? rows.bigint(AT.smsCount) : 0
    this.sessions = hasRow ? rows.bigint(AT.sessions) : 0
    return true
  }

  get iccid(): string {
    return this.#rows.text(AT.iccid)
  }
  get tag(): string {
    return this.#rows.text(AT.tag)
  }
  get type(): SimType {
    return typeOf(this.#rows.smallint(AT.type))
  }
  get statusSince(): Date {
    return this.#rows.instant(AT.statusSince)
  }
  get imei(): string {
    return this.#rows.text(AT.imei)
  }
  get deviceChanges(): number {
    return this.#rows.integer(AT.deviceChanges)
  }
  get deviceChangedAt(): Date | null {
    return this.#instantOrNull(AT.deviceChangedAt)
  }
  get suspension(): SimRow['suspension'] {
    if (this.#rows.isNull(AT.suspension)) return null
    return this.#rows.text(AT.suspension) === 'user' ? 'user' : 'watchdog'
  }
  get lastSeenAt(): Date | null {
    return this.#instantOrNull(AT.lastSeenAt)
  }
  get country(): string | null {
    return this.#textOrNull(AT.country)
  }
  get mccMnc(): string | null {
    return this.#textOrNull(AT.mccMnc)
  }
  get rat(): string | null {
    return this.#textOrNull(AT.rat)
  }
  get countryChangedAt(): Date | null {
    return this.#instantOrNull(AT.countryChangedAt)
  }

  #instantOrNull(column: number): Date | null {
    return this.#rows.isNull(column) ? null : this.#rows.instant(column)
  }

  #textOrNull(column: number): string | null {
    return this.#rows.isNull(column) ? null : this.#rows.text(column)
  }
}

/**
 * Reads SIMs of a range of ids, each next to its ledger rows of a cycle, by id: for {@link SimLine}.
 *
 * Uses full joins, and drops rows without a SIM: PostgreSQL never runs them as nested loops, even with wrong estimates
 * of the three sizes.
 *
 * @param withStock whether it reads Unprovisioned SIMs too
 */
export function readSimLines(tx: TenantTx, cycleKey: string, of: Range, withStock: boolean): Promise<CopiedRows> {
  const isProvisioned = sql`status <> ${sql.lit(SimStatus.Unprovisioned)}`
  // A replay also has the SIMs that came later.
  const isThere = sql`created_at <= ${sql.lit(tx.now.toISOString())}`
  const isRead = withStock ? sql`(${isProvisioned} or ${isThere})` : isProvisioned
  const upTo = sql`sim_id >= ${sql.lit(of.fromId)} and sim_id <= (select max(id) from s)`
  return copyOf(
    tx,
    sql`
      with s as materialized (
        select * from sims
         where ${mineAfter('sims.id', sql.lit(of.fromId - 1), of.toId === null ? undefined : sql.lit(of.toId - 1))}
           and ${isRead}
         order by ${byKey('sims.id')} limit (select ${sql.lit(of.most)})
      )
      select ${COLUMNS}
        from s
        full join (select * from sim_sightings where tenant_id = ${mine} and ${upTo}) g on g.sim_id = s.id
        full join (select * from usage_ledger
                    where tenant_id = ${mine} and cycle_key = (select ${sql.lit(cycleKey)}) and ${upTo}) l on l.sim_id = s.id
       where coalesce(s.id, 0) > 0
       order by s.id`,
  )
}
