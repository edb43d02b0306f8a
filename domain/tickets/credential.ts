/** Names credentials without revealing them. */
import { scryptSync } from 'node:crypto'

/**
 * The fingerprint of a carrier's address and our secret, 32 hex digits. By scrypt, some 50 ms a hash: even a weak secret
 * cannot be found from it by trial.
 */
export const credentialOf = (url: string, secret: string): string => scryptSync(secret, url, 16).toString('hex')
