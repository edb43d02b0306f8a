import { crc32, inflateSync } from 'node:zlib'
import { create } from 'qrcode'
import { describe, expect, test } from 'vitest'
import { qrDataUrl } from '../../../api/http/qr-code.ts'

/** Parts of a PNG by name. Their sums are right. */
function partsOf(dataUrl: string): Map<string, Buffer> {
  const png = Buffer.from(dataUrl.replace(/^data:image\/png;base64,/, ''), 'base64')
  const parts = new Map<string, Buffer>()
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    const end = at + 8 + png.readUInt32BE(at)
    expect(png.readUInt32BE(end)).toBe(crc32(png.subarray(at + 4, end)))
    parts.set(png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, end))
  }
  return parts
}

/** The modules of a picture as text, dark ones as `#`, with its border. A module is a square of 4 pixels of a bit. */
function modulesOf(parts: Map<string, Buffer>): string[] {
  const pixels = inflateSync(parts.get('IDAT') ?? '')
  const width = parts.get('IHDR')?.readUInt32BE(0) ?? 0
  const lineBytes = 1 + Math.ceil(width / 8)
  const isDark = (x: number, y: number) => (((pixels[y * lineBytes + 1 + (x >> 3)] ?? 0) >> (7 - (x & 7))) & 1) === 0
  const lines = Array.from({ length: width }, (_, y) =>
    Array.from({ length: width }, (_, x) => (isDark(x, y) ? '#' : ' ')).join(''),
  )
  expect(pixels).toHaveLength(width * lineBytes)
  const shrunk = lines.filter((_, y) => y % 4 === 0).map((line) => line.replace(/(.)\1\1\1/g, '$1'))
  expect(shrunk.flatMap((line) => Array.from({ length: 4 }, () => line.replace(/./g, '$&$&$&$&')))).toEqual(lines)
  return shrunk
}

/** The modules of a text's QR code, with the border of 4 that the standard asks for. */
function codeOf(text: string): string[] {
  const { modules } = create(text, { errorCorrectionLevel: 'M' })
  const side = modules.size + 8
  const inside = Array.from({ length: modules.size }, (_, y) =>
    Array.from({ length: modules.size }, (_, x) => (modules.get(y, x) ? '#' : ' ')).join(''),
  )
  const border = Array.from({ length: 4 }, () => ' '.repeat(side))
  return [...border, ...inside.map((line) => `    ${line}    `), ...border]
}

describe('qrDataUrl', () => {
  test.each([
    'LPA:1$smdp.simherd.example$0123456789ABCDEF0123456789ABCDEF',
    'LPA:1$SMDP.GSMA.COM$04386-AGYFT-A74Y8-3F815$1.3.6.1.4.1.31746$1',
    'LPA:1$A.B$',
    `LPA:1$smdp.example.com$${'A'.repeat(232)}`,
  ])('shows %s', (text) => {
    const parts = partsOf(qrDataUrl(text))

    expect([...parts.keys()]).toEqual(['IHDR', 'IDAT', 'IEND'])
    expect(parts.get('IHDR')?.subarray(8)).toEqual(Buffer.from([1, 0, 0, 0, 0]))
    expect(modulesOf(parts)).toEqual(codeOf(text))
  })

  test('is short enough for lists', () => {
    expect(qrDataUrl('LPA:1$smdp.simherd.example$0123456789ABCDEF0123456789ABCDEF').length).toBeLessThan(900)
  })
})
