/**
 * What a device is shown to download an eSIM's profile: an activation code and its QR code.
 * A secret of whoever holds the SIM: in no event, log, mail or audit entry.
 */
import { randomBytes } from 'node:crypto'
import { toDataURL } from 'qrcode'

/** Where profiles come from. */
export interface EsimOptions {
  /** Host of the server profiles are downloaded from (SM-DP+). */
  readonly smdpHost: string
  /** First digits of ICCIDs that are made; 89, then the issuer. */
  readonly iccidPrefix: string
}

export interface ActivationCode {
  /** `LPA:1$host$matching-id`. Source: GSMA SGP.22, section 4.1. */
  readonly qrPayload: string
  /** PNG as a data URL, some 800 characters. */
  readonly qrDataUrl: string
}

/** 128 random bits: not to be guessed, and never the same twice. Capitals keep the QR code small. */
const matchingId = () => randomBytes(16).toString('hex').toUpperCase()

/**
 * Four pixels a module, with the white around it that ISO/IEC 18004, section 6.3.8, asks for. One channel and no
 * filter: two thirds of the time of the library's default, and a third of its length.
 */
const PICTURE = {
  errorCorrectionLevel: 'M',
  type: 'image/png',
  margin: 4,
  scale: 4,
  rendererOpts: { colorType: 0, filterType: 0, deflateLevel: 6, deflateStrategy: 0 },
} as const

/** Makes activation codes, some three milliseconds of work each: to be made before a transaction, not in it. */
export async function makeActivationCodes(count: number, smdpHost: string): Promise<ActivationCode[]> {
  const codes: ActivationCode[] = []
  while (codes.length < count) {
    const qrPayload = `LPA:1$${smdpHost}$${matchingId()}`
    codes.push({ qrPayload, qrDataUrl: await toDataURL(qrPayload, PICTURE) })
  }
  return codes
}
