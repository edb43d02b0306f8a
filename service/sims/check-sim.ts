/** Checks a delivered SIM record. Faults name an error and its remedy; warnings name doubtful values. */
import { Compile } from 'typebox/compile'
import { labelOf, SimStatus, SimType, WatchdogMode } from '../../domain/codes.ts'
import { didYouMean } from '../../domain/did-you-mean.ts'
import { ifDayZero, isRounded, looksRounded } from '../../domain/files/spreadsheet.ts'
import { checkDigit, DIGIT_FIELDS, luhnOk, withoutFiller } from '../../domain/identifiers.ts'
import { instantMs } from '../../domain/instant.ts'
import { hideSecrets } from '../../domain/quote.ts'
import { CODE_FORM, wrongCode } from '../../domain/sims/activation-code.ts'
import { NewSim } from '../../domain/sims/sim.ts'
import { ImportedSim } from '../../domain/sims/sim-import.ts'
import { MOST_TOTAL, MOST_UNITS } from '../../domain/usage/usage-record.ts'

/** Something that looks wrong about a SIM. The SIM is written all the same. */
export interface SimWarning {
  readonly field: keyof ImportedSim
  readonly detail: string
}

export type SimCheck<T> = { readonly sim: T; readonly warnings: readonly SimWarning[] } | { readonly fault: string }

const newSim = Compile(NewSim)
const importedSim = Compile(ImportedSim)

const codes = (table: Readonly<Record<string, number>>): string =>
  Object.entries(table)
    .map(([label, code]) => `${code} (${label})`)
    .join(' or ')
const upTo = (most: number): string => `a whole number from 0 to ${most}`

interface Field {
  readonly expected: string
  readonly fits: (value: unknown) => boolean
  /** The value is a secret, and a fault has nothing of it. */
  readonly secret?: true
}

const property = (name: keyof ImportedSim): Pick<Field, 'fits'> => {
  const compiled = Compile(ImportedSim.properties[name])
  return { fits: (value) => compiled.Check(value) }
}

type Fields = Readonly<Record<string, Field>>

const NEW_FIELDS = {
  iccid: { ...property('iccid'), expected: '18 to 22 digits' },
  imsi: { ...property('imsi'), expected: 'at most 15 digits' },
  msisdn: { ...property('msisdn'), expected: 'at most 15 digits, with or without a + before them' },
  imei: { ...property('imei'), expected: '14 to 16 digits' },
  type: { ...property('type'), expected: codes(SimType) },
  esimQrPayload: { ...property('esimQrPayload'), expected: CODE_FORM, secret: true },
  tag: { ...property('tag'), expected: 'text of at most 128 characters, without control characters' },
  watchdogMode: { ...property('watchdogMode'), expected: codes(WatchdogMode) },
  warningThresholdPct: { ...property('warningThresholdPct'), expected: 'a whole number from 1 to 100' },
  enableBurnRateAlerts: { ...property('enableBurnRateAlerts'), expected: 'true or false' },
  isWatchdogExempt: { ...property('isWatchdogExempt'), expected: 'true or false' },
} as const satisfies Readonly<Record<keyof NewSim, Field>>

const IMPORT_FIELDS: Readonly<Record<keyof ImportedSim, Field>> = {
  ...NEW_FIELDS,
  status: { ...property('status'), expected: codes(SimStatus) },
  poolId: { ...property('poolId'), expected: 'the id of a pool' },
  tariffId: { ...property('tariffId'), expected: 'the id of a tariff' },
  activatedAt: {
    fits: (value) => value === null || (typeof value === 'string' && instantMs(value) !== undefined),
    expected: 'a day and time there are, ISO 8601 with an offset or Z, such as 2026-03-01T00:00:00Z',
  },
  usageBytes: { ...property('usageBytes'), expected: upTo(MOST_TOTAL) },
  voiceSeconds: { ...property('voiceSeconds'), expected: upTo(MOST_UNITS) },
  smsCount: { ...property('smsCount'), expected: upTo(MOST_UNITS) },
}

/** Names of the fields that a SIM may be imported with. */
export const SIM_FIELDS: readonly string[] = Object.keys(IMPORT_FIELDS)

/** An unknown field name, quoted, with the name that may have been meant. */
const unknownField = (name: string): string => {
  const meant = didYouMean(name.replaceAll(/[\s_-]/g, ''), SIM_FIELDS)
  return `${quoted(name)}${meant === undefined ? '' : `: ${meant}`}`
}

/**
 * Checks the record of an ordered SIM. It is Unprovisioned.
 *
 * @param ordered its type; a record may leave it out
 * @returns the SIM with its type, and its warnings, or its faults in words
 */
export function checkSim(record: unknown, ordered: SimType): SimCheck<NewSim> {
  if (!newSim.Check(record)) return { fault: faultsOf(record, NEW_FIELDS).join('. ') }
  const type = record.type ?? ordered
  if (type !== ordered) return { fault: `type: got ${type}; expected ${typeWords(ordered)}, as was ordered` }
  const faults = codeFaults(record, ordered === SimType.eSIM ? ordered : record.type)
  if (faults.length > 0) return { fault: faults.join('. ') }
  const sim = asRead({ ...record, type })
  return { sim, warnings: warningsOf(sim) }
}

const typeWords = (type: SimType): string => `${type} (${labelOf(SimType, type)})`

/** The fault of an activation code that does not go with the type; none if it does. */
function codeFaults({ esimQrPayload }: NewSim, type: NewSim['type']): string[] {
  if (esimQrPayload == null || type === SimType.eSIM) return []
  const physical = typeWords(SimType['Physical SIM'])
  const words = type == null ? `no type, which is ${physical}` : `type ${physical}`
  return [`esimQrPayload: got one of a SIM with ${words}; expected none, or type ${typeWords(SimType.eSIM)}`]
}

/**
 * Checks the record of a SIM that may live at the carrier already. Pool and tariff are not looked up.
 *
 * @param now epoch milliseconds
 * @returns the SIM and its warnings, or its faults in words
 */
export function checkImport(record: unknown, now: number): SimCheck<ImportedSim> {
  if (!importedSim.Check(record) || !IMPORT_FIELDS.activatedAt.fits(record.activatedAt ?? null)) {
    return { fault: faultsOf(record, IMPORT_FIELDS).join('. ') }
  }
  const faults = [...codeFaults(record, record.type), ...stateFaults(record, now)]
  if (faults.length > 0) return { fault: faults.join('. ') }
  const sim = asRead(record)
  return { sim, warnings: [...warningsOf(sim), ...stateWarnings(sim)] }
}

const asRead = <T extends NewSim>(record: T): T => ({ ...record, iccid: withoutFiller(record.iccid) })

function faultsOf(record: unknown, fields: Fields): string[] {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    return [`got ${quoted(record)}; expected an object with an iccid`]
  }
  const given = new Map<string, unknown>(Object.entries(record))
  const faults = Object.entries(fields).flatMap(([name, field]) => {
    const value = given.get(name)
    if (value === undefined) return name === 'iccid' ? [`iccid: is missing; expected ${field.expected}`] : []
    return field.fits(value) ? [] : [`${name}: got ${textOf(value, name, field)}; expected ${field.expected}`]
  })
  const unknown = [...given.keys()].filter((name) => !Object.hasOwn(fields, name))
  if (unknown.length === 0) return faults
  const shown = unknown.slice(0, 5).map(unknownField).join(', ')
  const advice = fields === IMPORT_FIELDS ? ', or ignoreUnknown=true to pass it over' : ''
  return [...faults, `no field of a SIM: ${shown}; expected some of ${Object.keys(fields).join(', ')}${advice}`]
}

function textOf(value: unknown, name: string, { secret }: Field): string {
  if (secret === true) return (typeof value === 'string' ? wrongCode(value) : undefined) ?? 'no text'
  if (typeof value === 'string' && isRounded(value)) {
    return `${quoted(value)}, which is a number a spreadsheet has rounded: format the column as text and export again`
  }
  if (!DIGIT_FIELDS.has(name)) return `${quoted(value)}${typeof value === 'string' ? ifDayZero(value) : ''}`
  if (typeof value === 'number') {
    const lost = Number.isSafeInteger(value) ? '' : ', which has lost digits: a JSON number keeps about 16'
    return `the number ${value}${lost}: send it as text, in quotes`
  }
  if (typeof value !== 'string') return quoted(value)
  return /^\d+$/.test(value) ? `${quoted(value)}, ${value.length} digits` : quoted(value)
}

/** The longest JSON text shown whole, in characters. */
const SHOWN = 60

function quoted(value: unknown): string {
  const text = hideSecrets(JSON.stringify(value) ?? String(value))
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN).toWellFormed()}…`
}

/**
 * Warnings about ICCIDs that look rounded by a spreadsheet, and about wrong check digits. An ICCID of 18 digits has no
 * check digit, nor has an IMEI of 14 or 16.
 */
function warningsOf({ iccid, imei }: NewSim): SimWarning[] {
  const warnings: SimWarning[] = []
  if (iccid.length > 18 && looksRounded(iccid)) {
    const detail = `${iccid} has only zeros from its 16th digit on, as a number that a spreadsheet has rounded`
    warnings.push({ field: 'iccid', detail: `${detail}: compare it with the card` })
  } else if (iccid.length > 18 && !luhnOk(iccid)) {
    warnings.push({ field: 'iccid', detail: wrongDigit(iccid) })
  }
  if (imei?.length === 15 && !luhnOk(imei)) warnings.push({ field: 'imei', detail: wrongDigit(imei) })
  return warnings
}

const wrongDigit = (number: string): string =>
  `${number} ends in ${number.at(-1)}, but ${checkDigit(number.slice(0, -1))} is the check digit of what is before it: ` +
  'a digit may be mistyped'

// Whether the fields of a SIM taken over from the carrier agree with each other.

/** The year of the first SIMs, in epoch milliseconds. */
const FIRST_SIM_MS = Date.UTC(1991, 0)

/** Fields that only a provisioned SIM has. */
const PLACE = ['poolId', 'tariffId', 'activatedAt'] as const
/** Usage in the running cycle. 0 is none. */
export const USAGE = ['usageBytes', 'voiceSeconds', 'smsCount'] as const

export const statusOf = ({ status }: ImportedSim): SimStatus => status ?? SimStatus.Unprovisioned

/** Since when a SIM is Active, or was before it was suspended, in epoch milliseconds; undefined if it never was. */
export const activatedMs = ({ activatedAt }: ImportedSim): number | undefined =>
  activatedAt == null ? undefined : instantMs(activatedAt)

/** Whether a SIM has used anything in the running cycle. */
export const hasUsage = (sim: ImportedSim): boolean => USAGE.some((name) => (sim[name] ?? 0) > 0)

/**
 * Why a SIM cannot be taken over in this state. Empty if it can. Each field by itself is right.
 *
 * @param now epoch milliseconds
 */
function stateFaults(sim: ImportedSim, now: number): string[] {
  switch (statusOf(sim)) {
    case SimStatus.Unprovisioned:
      return [...PLACE.flatMap((name) => unexpected(sim, name)), ...usageFaults(sim, 'status 1 or 2')]
    case SimStatus.Active:
      return activationFaults(sim, now)
    case SimStatus.Suspended:
      if (sim.activatedAt != null) return activationFaults(sim, now)
      return usageFaults(sim, 'the activatedAt from before it was suspended')
  }
}

function unexpected(sim: ImportedSim, name: (typeof PLACE)[number]): string[] {
  if (sim[name] == null) return []
  return [`${name}: got ${JSON.stringify(sim[name])} of an Unprovisioned SIM; expected none, or status 1 or 2`]
}

function activationFaults({ activatedAt }: ImportedSim, now: number): string[] {
  if (activatedAt == null) {
    return ['activatedAt: is missing; expected since when the SIM is Active, ISO 8601 with an offset or Z']
  }
  const at = instantMs(activatedAt) ?? now
  const got = `activatedAt: got ${JSON.stringify(activatedAt)}`
  if (at < FIRST_SIM_MS)
    return [`${got}${ifDayZero(activatedAt)}; expected 1991 or later, as there were no SIMs before`]
  return at <= now ? [] : [`${got}; expected no later than now, ${new Date(now).toISOString()}`]
}

const usageFaults = (sim: ImportedSim, orElse: string): string[] =>
  USAGE.flatMap((name) =>
    (sim[name] ?? 0) > 0
      ? [`${name}: got ${sim[name]} of a SIM that never was Active; expected none or 0, or ${orElse}`]
      : [],
  )

/** Warns of an Active SIM that nothing is charged for. */
function stateWarnings(sim: ImportedSim): SimWarning[] {
  if (statusOf(sim) !== SimStatus.Active || sim.poolId != null || sim.tariffId != null) return []
  const detail =
    'the SIM is Active with neither poolId nor tariffId: it has no allowance, and nothing is charged for it'
  return [{ field: 'poolId', detail }]
}
