/**
 * Numbers that identify a SIM, its subscription and its device. Imports nothing.
 *
 * Interfaces accept what carriers deliver, so the patterns check form only. Real files have ICCIDs cut before their
 * check digit, and IMEIs without one. {@link luhnOk} checks the check digit.
 */

/**
 * ICCID in its written form: 18 to 22 digits, and the filler of modems and carriers, see {@link withoutFiller}. Source:
 * service document, section 4.3; ITU-T E.118 has 19, 20 in many files.
 */
export const ICCID = /^\d{18,22}[Ff]*$/

/** IMEI: 15 digits; 14 without the check digit, 16 with a software version (IMEISV). Source: 3GPP TS 23.003, 6.2. */
export const IMEI = /^\d{14,16}$/

/** IMSI: country, network and subscriber, at most 15 digits. Source: 3GPP TS 23.003, 2.2. */
export const IMSI = /^\d{6,15}$/

/** MSISDN in international form, at most 15 digits, with or without the plus. Source: ITU-T E.164. */
export const MSISDN = /^\+?[1-9]\d{4,14}$/

/** Names of fields whose digits are a name, not an amount. A program that reads them as numbers spoils them. */
export const DIGIT_FIELDS: ReadonlySet<string> = new Set(['iccid', 'imsi', 'msisdn', 'imei'])

const DIGITS = /^\d+$/

/**
 * An ICCID without its filler: a card stores 20 places, and places without a digit are F. Every ICCID is read through
 * this function. Source: 3GPP TS 31.102, 4.2.2.
 */
export function withoutFiller(iccid: string): string {
  let end = iccid.length
  while (iccid[end - 1] === 'F' || iccid[end - 1] === 'f') end -= 1
  return iccid.slice(0, end)
}

/** Digits in groups, with hyphens and dots between them. */
const GROUPED = /^\+?\d+(?:[.\p{Pd}]\d+)*[Ff]*$/u

/**
 * The digits of a text that has only digits, perhaps in groups, and a plus before or the filler of an ICCID behind them:
 * `8944-5001-0219-8304-826F`. Spaces and invisible characters may be anywhere.
 *
 * @returns with the plus, without the filler; undefined for any other text
 */
export function digitsIn(text: string): string | undefined {
  const tight = text.replaceAll(/[\p{Z}\p{C}]/gu, '')
  if (!GROUPED.test(tight)) return undefined
  const digits = tight.replaceAll(/[.\p{Pd}]/gu, '')
  if (ICCID.test(digits)) return withoutFiller(digits)
  return /f$/i.test(digits) ? undefined : digits
}

/** Luhn sum of digits. From the right, every second digit is doubled, starting with the last or the one before it. */
function luhnSum(digits: string, doubleLast: boolean): number {
  let sum = 0
  let double = doubleLast
  for (const digit of digits.split('').toReversed()) {
    const value = Number(digit) * (double ? 2 : 1)
    sum += value > 9 ? value - 9 : value
    double = !double
  }
  return sum
}

/** Whether the last digit is the Luhn check digit of those before it. False for anything but two or more digits. */
export const luhnOk = (digits: string): boolean =>
  DIGITS.test(digits) && digits.length > 1 && luhnSum(digits, false) % 10 === 0

/** The check digit to append to these digits. @throws RangeError if the text is empty or has anything but digits */
export function checkDigit(digits: string): string {
  if (!DIGITS.test(digits)) throw new RangeError(`check digit of '${digits}': expected digits only, at least one`)
  return String((10 - (luhnSum(digits, true) % 10)) % 10)
}

/** A card's ICCID with a check digit added and, if it ends in one, without it. Files have both forms. */
export const otherIccidsOf = (iccid: string): string[] =>
  [iccid + checkDigit(iccid), ...(luhnOk(iccid) ? [iccid.slice(0, -1)] : [])].filter((other) => ICCID.test(other))

/** Completes an ICCID by its check digit. @throws RangeError unless given 18 digits that begin with 89 (telecoms) */
export function iccidOf(account: string): string {
  if (!/^89\d{16}$/.test(account)) {
    throw new RangeError(
      `ICCID of '${account}': expected 18 digits that begin with 89, got ${account.length} characters`,
    )
  }
  return account + checkDigit(account)
}

/** Completes an IMEI by its check digit. @throws RangeError unless given the 14 digits before it */
export function imeiOf(device: string): string {
  if (!/^\d{14}$/.test(device)) {
    throw new RangeError(`IMEI of '${device}': expected 14 digits, got ${device.length} characters`)
  }
  return device + checkDigit(device)
}
