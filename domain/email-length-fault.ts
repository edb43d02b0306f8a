/** Limits for the length of an e-mail address, in requests and in settings. Imports nothing. */

/** Most characters of a whole address, before its @, and between the dots behind it. Sources: RFC 5321, 4.5.3.1; RFC 1035, 2.3.4. */
export const MOST_EMAIL = 254
const MOST_LOCAL = 64
const MOST_LABEL = 63

/** Why no mail server or no DNS takes an address, in words that follow its name; undefined if they do. Form is not checked. */
export function emailLengthFault(address: string): string | undefined {
  const at = address.lastIndexOf('@')
  const label = address
    .slice(at + 1)
    .split('.')
    .find((one) => one.length > MOST_LABEL)
  if (address.length > MOST_EMAIL) return `has ${address.length} characters; expected at most ${MOST_EMAIL}`
  if (at > MOST_LOCAL) return `has ${at} characters before the @; expected at most ${MOST_LOCAL}`
  if (label === undefined) return undefined
  return `has ${label.length} characters between dots of its domain; expected at most ${MOST_LABEL}`
}
