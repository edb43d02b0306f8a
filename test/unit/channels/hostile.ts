/** Names that people, or attackers, might give pools and SIMs. */
import fc from 'fast-check'

/** Each without digits, so that numbers of a mail are its own. */
const FRAGMENTS = [
  '<script>alert()</script>',
  '</td></tr></table><h1>',
  '<!--',
  '" onmouseover="x',
  "' --",
  '&amp;&lt;',
  '{{usageMB}}',
  '{{{html}}}',
  '{{#each rows}}',
  '\r\nBcc: thief@example.org\r\n\r\n',
  '\n.\n',
  '\u0000\u0007\u001b[31m',
  '\u2028\u2029',
  '\u202eevil\u202c',
  '\u2066x\u2069\u200f',
  '\ud83d',
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
  '\u0301\u0301\u0301',
  '=?utf-8?Q?Bank?=',
  'long'.repeat(80),
  'Pool. Really! ',
  ': suspended',
  'معرض',
  ' ',
  'meter',
] as const

export const hostileText = fc
  .array(fc.oneof(fc.constantFrom(...FRAGMENTS), fc.string({ unit: 'binary', maxLength: 8 })), { maxLength: 6 })
  .map((parts) => parts.join('').replace(/\p{N}/gu, ''))

/** Names of the fragments alone, to send by SMTP. */
export const HOSTILE_NAMES: readonly string[] = FRAGMENTS
