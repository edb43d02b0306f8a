/**
 * What a device is shown to download an eSIM's profile: an activation code and its QR code.
 * A secret of whoever holds the SIM: in no event, log, mail or audit entry.
 */
import { randomBytes } from 'node:crypto'
import { toDataURL } from 'qrcode'

/** Where profiles come from. */
export interface EsimTerms {
  /** Host of the server profiles are downloaded from (SM-DP+). */
  readonly smdpHost: string
  /** First digits of ICCIDs that are made; 89, then the issuer. */
  readonly iccidPrefix: string
}

export interface ActivationCode {
  /** `LPA:1$host$matching-id`. Source: GSMA SGP.22, section 4.1. */
  readonly qrPayload: string
  /** PNG as a data URL, some 800 bytes. */
  readonly qrDataUrl: string
}

/**
 * Grey, unfiltered and packed by repetition: a third of the bytes of the library's own settings, in half the time.
 * Four pixels a module: a phone reads it off a screen.
 */
const PICTURE = {
  type: 'image/png',
  scale: 4,
  errorCorrectionLevel: 'M',
  rendererOpts: { colorType: 0, filterType: 0, deflateLevel: 6, deflateStrategy: 0 },
} as const

/** 128 random bits: not to be guessed, and never the same twice. Capitals keep the QR code small. */
const matchingId = () => randomBytes(16).toString('hex').toUpperCase()

/**
 * Makes activation codes, some milliseconds of work each: to be made before a transaction, not in it.
 * Lets other requests through in between.
 */
export async function makeActivationCodes(count: number, smdpHost: string): Promise<ActivationCode[]> {
  const codes: ActivationCode[] = []
  for (let made = 0; made < count; made++) {
    const qrPayload = `LPA:1$${smdpHost}$${matchingId()}`
    codes.push({ qrPayload, qrDataUrl: await toDataURL(qrPayload, PICTURE) })
  }
  return codes
}
