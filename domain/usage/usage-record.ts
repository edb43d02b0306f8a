/** A usage record as a carrier's mediation system delivers it, and its possible faults. Pure. */
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { ifDayZero } from '../files/spreadsheet.ts'
import { Unreadable } from '../files/waste.ts'
import { withoutFiller } from '../identifiers.ts'
import { instantMs } from '../instant.ts'
import { Iccid } from '../schema.ts'
import { recordFaults } from '../schema-fault.ts'
import { isStorable } from '../text.ts'

/** 1 TB in one record. Above that, and above 30 years of voice in seconds, a record is a mistake. */
const MOST_BYTES = 1_000_000_000_000
/** Most seconds of voice, or messages, in one record. */
export const MOST_UNITS = 1_000_000_000
const amount = (most: number, description: string) =>
  Type.Optional(Type.Integer({ minimum: -most, maximum: most, description }))

/** Largest total of usage for a SIM, a pool, a tenant or a time bucket. Below 2^53, to keep sums exact. */
export const MOST_TOTAL = 9_000_000_000_000_000

/** How old a record may be by default: 90 days, in milliseconds. */
export const USAGE_MAX_AGE_MS = 90 * 86_400_000

export const UsageRecord = Type.Object(
  {
    recordId: Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'Identifies the record within the tenant, together with the time: sent twice it counts once.',
    }),
    iccid: Type.Optional(Iccid('ICCID of the SIM, or give simId')),
    simId: Type.Optional(
      Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'The SIM; or give iccid.' }),
    ),
    at: Type.String({
      description:
        'Start of the usage, ISO 8601 with an offset or Z, not older than USAGE_MAX_AGE. The usage counts in the cycle of this time.',
    }),
    bytesUp: amount(
      MOST_BYTES,
      'Bytes sent; together with bytes received at most 10^12. Negative only in a correction.',
    ),
    bytesDown: amount(MOST_BYTES, 'Bytes received. Negative only in a correction.'),
    voiceSeconds: amount(MOST_UNITS, 'Seconds of voice. Negative only in a correction.'),
    smsCount: amount(MOST_UNITS, 'Messages. Negative only in a correction.'),
    sessions: amount(MOST_UNITS, 'Data sessions begun. Negative only in a correction.'),
    imei: Type.Optional(Type.String({ pattern: '^(\\d{14,16})?$', description: 'Device of the SIM.' })),
    country: Type.Optional(
      Type.String({
        pattern: '^([A-Z]{2})?$',
        description: 'Two capital letters, ISO 3166-1 alpha-2, such as DE: the country of the usage.',
      }),
    ),
    mccMnc: Type.Optional(
      Type.String({
        pattern: '^(\\d{5,6})?$',
        description: '5 or 6 digits, MCC and MNC together, such as 26201: the network of the usage.',
      }),
    ),
    rat: Type.Optional(
      Type.String({
        pattern: '^([A-Za-z0-9][A-Za-z0-9 ._/+-]{0,19})?$',
        description:
          'At most 20 characters, such as LTE or NB-IoT: the radio access technology, as the carrier names it.',
      }),
    ),
    correction: Type.Optional(Type.Boolean({ description: 'Corrects earlier usage; amounts may be negative.' })),
  },
  { additionalProperties: false },
)
export type UsageRecord = Static<typeof UsageRecord>
/** Compiled: read by the schema itself, a record takes six times as long. */
const checked = Compile(UsageRecord)

/** The amounts of a record. A record without any was cut off, and must not count as 0. */
const AMOUNTS = ['bytesUp', 'bytesDown', 'voiceSeconds', 'smsCount', 'sessions'] as const

/** Why a record was not counted: a stable code, and words for people. */
export interface UsageFault {
  readonly code:
    | 'invalid_record'
    | 'sim_not_found'
    | 'record_conflict'
    | 'usage_in_future'
    | 'usage_too_old'
    | 'negative_usage'
    | 'negative_total'
    | 'total_out_of_range'
  readonly detail: string
}

/** A record after reading. `at` is in epoch milliseconds. */
export interface ReadRecord {
  readonly recordId: string
  readonly iccid: string | null
  readonly simId: number | null
  readonly at: number
  readonly bytesUp: number
  readonly bytesDown: number
  readonly voiceSeconds: number
  readonly smsCount: number
  readonly sessions: number
  readonly imei: string | null
  readonly country: string | null
  readonly mccMnc: string | null
  readonly rat: string | null
  readonly correction: boolean
}

/** How far ahead of the clock a record may be, in milliseconds: 5 minutes. */
export const FUTURE_MS = 5 * 60_000

const fault = (code: UsageFault['code'], detail: string): { readonly fault: UsageFault } => ({
  fault: { code, detail },
})

/**
 * Reads and checks one record.
 *
 * @param now epoch milliseconds; a record more than 5 minutes ahead is refused
 * @param maxAgeMs how old the record may be in milliseconds, even if it is older than its tenant
 * @returns the record, or why it is refused
 */
export function readRecord(
  value: unknown,
  now: number,
  maxAgeMs: number = USAGE_MAX_AGE_MS,
): { readonly record: ReadRecord } | { readonly fault: UsageFault } {
  if (value instanceof Unreadable) return fault('invalid_record', String(value))
  if (!checked.Check(value)) {
    const faults = checked.Errors(value)
    const [first = 'record is malformed'] = recordFaults(faults, value, UsageRecord.properties)
    return fault(
      'invalid_record',
      faults[0]?.keyword === 'boolean' ? `${first}: ignoreUnknown=true passes it over` : first,
    )
  }
  if (!isStorable(value.recordId)) return fault('invalid_record', 'recordId: has U+0000 or half a surrogate pair in it')
  if ((value.iccid === undefined) === (value.simId === undefined)) {
    return fault('invalid_record', 'give either iccid or simId')
  }
  const at = instantMs(value.at)
  if (at === undefined) {
    const expected = 'a day and time there are, ISO 8601 with an offset or Z'
    return fault('invalid_record', `at: got '${value.at}'${ifDayZero(value.at)}; expected ${expected}`)
  }
  if (at < now - maxAgeMs) {
    const late = 'is longer ago than USAGE_MAX_AGE lets usage come late'
    return fault('usage_too_old', `at: ${value.at}${ifDayZero(value.at)} ${late}`)
  }
  if (at > now + FUTURE_MS) return fault('usage_in_future', `at: ${value.at} is more than 5 minutes ahead`)
  if (AMOUNTS.every((name) => value[name] === undefined)) {
    return fault('invalid_record', `states no amount: expected one of ${AMOUNTS.join(', ')}, 0 if nothing was used`)
  }
  const { bytesUp = 0, bytesDown = 0, voiceSeconds = 0, smsCount = 0, sessions = 0, correction = false } = value
  const amounts = { bytesUp, bytesDown, voiceSeconds, smsCount, sessions }
  const negative = Object.entries(amounts).find(([, amount]) => amount < 0)
  if (negative !== undefined && !correction) {
    return fault('negative_usage', `${negative[0]}: got ${negative[1]}; only a correction may be negative`)
  }
  const bytes = bytesUp + bytesDown
  if (Math.abs(bytes) > MOST_BYTES) {
    return fault('invalid_record', `bytesUp and bytesDown: got ${bytes} together, expected at most ${MOST_BYTES}`)
  }
  return {
    record: {
      recordId: value.recordId,
      iccid: value.iccid === undefined ? null : withoutFiller(value.iccid),
      simId: value.simId ?? null,
      at,
      ...amounts,
      imei: value.imei || null,
      country: value.country || null,
      mccMnc: value.mccMnc || null,
      rat: value.rat || null,
      correction,
    },
  }
}
