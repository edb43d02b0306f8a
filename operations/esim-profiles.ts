/**
 * What a device is shown to download an eSIM's profile: an activation code and its QR code.
 * A secret of whoever holds the SIM: in no event, log, mail or audit entry.
 */
import { randomBytes } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'
import { create, type QRCode } from 'qrcode'

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
  /** PNG as a data URL, some 500 characters. */
  readonly qrDataUrl: string
}

/** 128 random bits: not to be guessed, and never the same twice. Capitals keep the QR code small. */
const matchingId = () => randomBytes(16).toString('hex').toUpperCase()

/** Codes made before other requests get their turn: some 10 ms. */
const AT_A_STRETCH = 10

/** Makes activation codes, a millisecond of work each: to be made before a transaction, not in it. */
export async function makeActivationCodes(count: number, smdpHost: string): Promise<ActivationCode[]> {
  const codes: ActivationCode[] = []
  for (let made = 0; made < count; made++) {
    const qrPayload = `LPA:1$${smdpHost}$${matchingId()}`
    const { modules } = create(qrPayload, { errorCorrectionLevel: 'M' })
    codes.push({ qrPayload, qrDataUrl: `data:image/png;base64,${pngOf(modules).toString('base64')}` })
    if (made % AT_A_STRETCH === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  return codes
}

/** Pixels of a module: a phone reads it off a screen. */
const SCALE = 4
/** Modules of white around it. Source: ISO/IEC 18004, section 6.3.8. */
const QUIET = 4
const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')

/** A bit a pixel: a quarter of the work of the library's own pictures, which have four bytes. Source: PNG, third edition. */
function pngOf(modules: QRCode['modules']): Buffer {
  const width = (modules.size + 2 * QUIET) * SCALE
  const pixels: Buffer[] = []
  for (let y = -QUIET; y < modules.size + QUIET; y++) {
    const line = lineOf(modules, y, width)
    for (let copy = 0; copy < SCALE; copy++) pixels.push(line)
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(width, 4)
  header[8] = 1
  const data = deflateSync(Buffer.concat(pixels))
  return Buffer.concat([PNG, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}

/** A line of pixels: a byte that says "unfiltered", then a bit each, the first the highest; 1 is white. */
function lineOf(modules: QRCode['modules'], y: number, width: number): Buffer {
  const line = Buffer.alloc(1 + Math.ceil(width / 8), 0xff)
  line[0] = 0
  if (y < 0 || y >= modules.size) return line
  for (let x = 0; x < modules.size; x++) {
    if (modules.get(y, x) === 0) continue
    for (let bit = (x + QUIET) * SCALE; bit < (x + QUIET + 1) * SCALE; bit++) {
      const at = 1 + (bit >> 3)
      line[at] = (line[at] ?? 0) & ~(0x80 >> (bit & 7))
    }
  }
  return line
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}
