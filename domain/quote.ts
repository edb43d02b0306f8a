/** Quotes text of callers and other servers in responses and log lines: shortened, well formed, without secrets. Pure. */

/** Bytes of a text as JSON has it, in UTF-8, without the quotes around it. */
const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2

/**
 * Removes the middle of a long text: `There is no SIM 1111…1111.` Most messages have the fault at their beginning or end. The
 * result has no half of a surrogate pair.
 *
 * @param mostBytes limit of the result in bytes of JSON; at least 3 for the `…`
 */
export function shorten(text: string, mostBytes: number): string {
  // Each sign takes a byte or more.
  if (text.length <= mostBytes) {
    const whole = text.toWellFormed()
    if (bytesOf(whole) <= mostBytes) return whole
  }
  for (let length = Math.floor(mostBytes / 2); length > 0; ) {
    const kept = `${beginningOf(text, length)}…${endOf(text, length)}`.toWellFormed()
    const bytes = bytesOf(kept)
    if (bytes <= mostBytes) return kept
    length = Math.min(length - 1, Math.floor((length * mostBytes) / bytes))
  }
  return '…'
}

const beginningOf = (text: string, length: number): string => text.slice(0, length).replace(/[\ud800-\udbff]$/, '')
const endOf = (text: string, length: number): string => text.slice(-length).replace(/^[\udc00-\udfff]/, '')

/** Patterns of secrets, and their replacements. Each takes time linear in the text: no character is tried twice. */
const SECRETS: readonly (readonly [RegExp, string])[] = [
  // An API key. Its id stays: it opens nothing, and is in the log anyway.
  [/(sim(?:_|%5f)[\da-f]{12}(?:_|%5f))[\w%-]+/gi, '$1…'],
  // A secret that signs events.
  [/whsec_[\w+/=-]+/g, 'whsec_…'],
  // A path of a link in a mail. The token at its end is a permission.
  [/((?:\/|%2f)n(?:\/|%2f))[^\s"'<>\\]+/gi, '$1…'],
  // An activation code of an eSIM. The host stays.
  [/(1(?:\$|%24)[\w-]+(?:\.[\w-]+)+(?:\$|%24))[\w-]+/gi, '$1…'],
  // The signature of such a token, in any other place.
  [/\.[\w-]{43,}/g, '.…'],
]

/** Takes keys and tokens out of a text. In a JSON text the result is JSON still. */
export const hideSecrets = (text: string): string =>
  SECRETS.reduce((hidden, [pattern, shown]) => hidden.replace(pattern, shown), text)

/** Characters at each end of a text that are searched for secrets. Of a long text, the middle is removed before. */
const LOOKED_AT = 10_000

/** A text from outside as it may be shown: without secrets, and in so many bytes as JSON has it. */
export function quote(text: string, mostBytes: number): string {
  const isLong = text.length > 2 * LOOKED_AT
  return shorten(hideSecrets(isLong ? `${beginningOf(text, LOOKED_AT)}…${endOf(text, LOOKED_AT)}` : text), mostBytes)
}
