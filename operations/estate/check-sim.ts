/** Checks a delivered SIM record. Faults say what is wrong and what to do; warnings say what looks wrong. */
import { Compile } from 'typebox/compile'
import { SimType, WatchdogMode } from '../../domain/codes.ts'
import { NewSim } from '../../domain/estate/sim.ts'
import { checkDigit, luhnOk } from '../../domain/identifiers.ts'
import { didYouMean } from '../../domain/spelling.ts'
import { isRounded, looksRounded } from '../../domain/spreadsheet.ts'

/** Something that looks wrong about a SIM. The SIM is written all the same. */
export interface SimWarning {
  readonly field: 'iccid' | 'imei'
  readonly detail: string
}

export type CheckedSim = { readonly sim: NewSim; readonly warnings: readonly SimWarning[] } | { readonly fault: string }

const check = Compile(NewSim)

const codes = (table: Readonly<Record<string, number>>): string =>
  Object.entries(table)
    .map(([label, code]) => `${code} (${label})`)
    .join(' or ')

interface Field {
  readonly expected: string
  readonly fits: (value: unknown) => boolean
  /** The value is a name made of digits, not an amount. A program that reads it as a number spoils it. */
  readonly digits?: true
}

const property = (name: keyof NewSim): Pick<Field, 'fits'> => {
  const compiled = Compile(NewSim.properties[name])
  return { fits: (value) => compiled.Check(value) }
}

const FIELDS: Readonly<Record<keyof NewSim, Field>> = {
  iccid: { ...property('iccid'), expected: '18 to 22 digits', digits: true },
  imsi: { ...property('imsi'), expected: 'at most 15 digits', digits: true },
  msisdn: { ...property('msisdn'), expected: 'at most 15 digits, with or without a + before them', digits: true },
  imei: { ...property('imei'), expected: '14 to 16 digits', digits: true },
  type: { ...property('type'), expected: codes(SimType) },
  tag: { ...property('tag'), expected: 'text of at most 128 characters' },
  watchdogMode: { ...property('watchdogMode'), expected: codes(WatchdogMode) },
  warningThresholdPct: { ...property('warningThresholdPct'), expected: 'a whole number from 1 to 100' },
  enableBurnRateAlerts: { ...property('enableBurnRateAlerts'), expected: 'true or false' },
  isWatchdogExempt: { ...property('isWatchdogExempt'), expected: 'true or false' },
}

/** Names of the fields that a SIM may be delivered with. */
export const SIM_FIELDS: readonly string[] = Object.keys(FIELDS)
/** Names of the fields whose digits are a name. */
export const DIGIT_FIELDS: ReadonlySet<string> = new Set(
  Object.entries(FIELDS).flatMap(([name, { digits }]) => (digits === true ? [name] : [])),
)

/** An unknown field name, quoted, with the name that may have been meant. */
export const unknownField = (name: string): string => {
  const meant = didYouMean(name.replaceAll(/[\s_-]/g, ''), SIM_FIELDS)
  return `${quoted(name)}${meant === undefined ? '' : `: ${meant}`}`
}

/** Checks a record as it was delivered. @returns the SIM and its warnings, or its faults in words */
export function checkSim(record: unknown): CheckedSim {
  if (check.Check(record)) return { sim: record, warnings: warningsOf(record) }
  return { fault: faultsOf(record).join('. ') }
}

function faultsOf(record: unknown): string[] {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    return [`got ${quoted(record)}; expected an object with an iccid`]
  }
  const given = new Map<string, unknown>(Object.entries(record))
  const faults = Object.entries(FIELDS).flatMap(([name, field]) => {
    const value = given.get(name)
    if (value === undefined) return name === 'iccid' ? [`iccid: is missing; expected ${field.expected}`] : []
    return field.fits(value) ? [] : [`${name}: got ${textOf(value, field)}; expected ${field.expected}`]
  })
  const unknown = [...given.keys()].filter((name) => !Object.hasOwn(FIELDS, name))
  if (unknown.length === 0) return faults
  const shown = unknown.slice(0, 5).map(unknownField).join(', ')
  return [...faults, `no field of a SIM: ${shown}; expected some of ${SIM_FIELDS.join(', ')}`]
}

function textOf(value: unknown, { digits }: Field): string {
  if (digits !== true) return quoted(value)
  if (typeof value === 'number') {
    const lost = Number.isSafeInteger(value) ? '' : ', which has lost digits: a JSON number keeps about 16'
    return `the number ${value}${lost}: send it as text, in quotes`
  }
  if (typeof value !== 'string') return quoted(value)
  if (isRounded(value)) {
    return `${quoted(value)}, which is a number a spreadsheet has rounded: format the column as text and export again`
  }
  return /^\d+$/.test(value) ? `${quoted(value)}, ${value.length} digits` : quoted(value)
}

/** The longest JSON text that is shown whole, in characters. */
const SHOWN = 60

function quoted(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
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
