/** Names credentials without revealing them. */
import { scryptSync } from 'node:crypto'

/**
 * The fingerprint of a carrier's address and our secret, 32 hex digits. By scrypt, which takes some 50 ms: a weak secret is
 * not found from it by trying.
 */
export const credentialOf = (url: string, secret: string): string => scryptSync(secret, url, 16).toString('hex')
