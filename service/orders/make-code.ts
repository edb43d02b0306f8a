/**
 * Activation codes, which a device needs to download an eSIM's profile. A code is a secret of the holder of the SIM,
 * and must not appear in any event, log, mail or audit entry.
 */
import { randomBytes } from 'node:crypto'

/** Where profiles come from, and how their ICCIDs begin. */
export interface EsimOptions {
  /** Host of the server that profiles are downloaded from (SM-DP+). */
  readonly smdpHost: string
  /** First digits of generated ICCIDs: 89, then the issuer. */
  readonly iccidPrefix: string
}

/**
 * Makes an activation code. Its 128 random bits cannot be guessed and never repeat; capital letters keep the QR code
 * small. Source: GSMA SGP.22, section 4.1.
 */
export const makeCode = (smdpHost: string): string =>
  `LPA:1$${smdpHost}$${randomBytes(16).toString('hex').toUpperCase()}`
