/**
 * Activation codes of eSIMs, which a device scans to download a profile. A code is a secret of the SIM's holder, so no
 * fault quotes one. Source: GSMA SGP.22, section 4.1.
 */

export const MOST_CODE = 255

const LABEL = '[0-9A-Za-z](?:[0-9A-Za-z-]{0,61}[0-9A-Za-z])?'
/** A DNS name of two labels or more. The last is no number, or it would be an IP address. Source: RFC 1035, 2.3.4. */
const HOST = String.raw`(?=[^$]{1,253}(?:\$|$))(?:${LABEL}\.)+(?!\d+(?:\$|$))${LABEL}`
/** Empty if the server finds the profile by the device. */
const MATCHING_ID = '[0-9A-Z-]*'
const OID = String.raw`[0-2](?:\.\d+)+`

/** `LPA:1$host$matching-id`, then the OID of the server, then 1 if the holder has to enter a confirmation code. */
export const ACTIVATION_CODE = new RegExp(String.raw`^LPA:1\$${HOST}\$${MATCHING_ID}(?:\$${OID}|\$(?:${OID})?\$1)?$`)
export const CODE_FORM = 'LPA:1$host$matching-id, and then $OID or $$1 or $OID$1 where there is more'

const isWhole = (pattern: string, text: string): boolean => new RegExp(`^(?:${pattern})$`).test(text)

/** Why a text is no activation code. The words quote nothing of it: it may be a mistyped code. */
export function wrongCode(text: string): string | undefined {
  if (!text.startsWith('LPA:1$')) return 'a text that does not begin with LPA:1$'
  if (text.length > MOST_CODE) return `a text of ${text.length} characters`
  const parts = text.split('$')
  const [, host = '', matchingId, oid, confirmation] = parts
  if (matchingId === undefined || parts.length > 5) return `a text with ${parts.length} parts between its $`
  if (!isWhole(HOST, host)) return 'a text whose host is no DNS name'
  if (!isWhole(MATCHING_ID, matchingId)) return 'a text whose matching id has other characters than 0-9, A-Z and -'
  if (confirmation !== undefined && confirmation !== '1') return 'a text whose fifth part is not 1'
  if (oid !== undefined && !isWhole(OID, oid) && !(oid === '' && confirmation === '1')) {
    return 'a text whose fourth part is no OID'
  }
  return undefined
}
