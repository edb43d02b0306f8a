/** Reads what is sent as the usage route does, from streams. */
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { PART_BYTES, partsOf } from '../../../api/files/reading-turns.ts'
import { bytesOf } from '../../../api/files/unpack.ts'

const MIB = 1024 * 1024
const plain = { isPacked: false, onArrival: () => undefined, left: undefined }
const packed = { ...plain, isPacked: true }
const joined = (...parts: Buffer[]) => Buffer.concat(parts)

/** What is read of a body, and how it ends. */
async function readAll(body: Buffer, how: Parameters<typeof bytesOf>[1]) {
  const read: Buffer[] = []
  try {
    for await (const part of bytesOf(Readable.from([body], { objectMode: false }), how)) read.push(Buffer.from(part))
    return { read: Buffer.concat(read), error: undefined }
  } catch (error) {
    return { read: Buffer.concat(read), error }
  }
}

describe('bytesOf', () => {
  test.each([
    ['as it is', plain, (text: Buffer) => text],
    ['gzipped', packed, (text: Buffer) => gzipSync(text)],
    [
      'in several gzip streams',
      packed,
      (text: Buffer) => joined(gzipSync(text.subarray(0, 9)), gzipSync(text.subarray(9))),
    ],
    ['gzipped, with zeros behind it', packed, (text: Buffer) => joined(gzipSync(text), Buffer.alloc(512))],
  ])('reads a body %s', async (_, how, sent) => {
    const text = Buffer.from('ü,'.repeat(50_000))

    const { read, error } = await readAll(sent(text), how)

    expect(error).toBeUndefined()
    expect(read.equals(text)).toBe(true)
  })

  test.each([
    ['cut off', (file: Buffer) => file.subarray(0, -9), 'The body cannot be read: unexpected end of file'],
    ['with garbage behind it', (file: Buffer) => joined(file, Buffer.from('garbage')), 'The body cannot be read: '],
    ['that is none', () => Buffer.from('iccid\n'), 'The body cannot be read: incorrect header check'],
    ['without a byte', () => Buffer.alloc(0), 'The body cannot be read: unexpected end of file'],
  ])('refuses a gzip %s', async (_, made, detail) => {
    const { error } = await readAll(made(gzipSync('iccid\n'.repeat(99))), packed)

    expect(error).toMatchObject({ code: 'invalid_request', message: expect.stringContaining(detail) })
  })

  test('refuses what unpacks to more than 100 times what arrived', async () => {
    const bomb = gzipSync(Buffer.alloc(8 * MIB))

    const { read, error } = await readAll(bomb, packed)

    expect(error).toMatchObject({
      code: 'payload_too_large',
      message: `The body unpacks to ${MIB + 16 * 1024} bytes and more, of ${bomb.length} that arrived: expected at most 100 times as many; send it in parts.`,
    })
    expect(read.length).toBe(MIB)
  })

  test('takes the most regular records there are', async () => {
    const record = (n: number) =>
      `{"recordId":"carrier.example/2026/11/20/record-${String(n).padStart(12, '0')}","iccid":"8999900000000000017","at":"2026-11-20T00:00:00Z","bytesUp":0,"bytesDown":0,"voiceSeconds":0,"smsCount":0}\n`
    const text = Buffer.from(Array.from({ length: 20_000 }, (_, n) => record(n)).join(''))
    const file = gzipSync(text, { level: 9 })
    expect(text.length / file.length).toBeGreaterThan(50)

    const { read, error } = await readAll(file, packed)

    expect(error).toBeUndefined()
    expect(read.length).toBe(text.length)
  })

  test.each([
    ['plain', plain, Buffer.alloc(101)],
    ['packed', packed, gzipSync(Buffer.alloc(101))],
  ])('refuses a %s body above its maximum', async (_, how, body) => {
    const { error } = await readAll(body, { ...how, most: { bytes: 100, inPlace: 'less' } })

    const message = 'The body has more than the 100 bytes there may be; send less.'
    expect(error).toMatchObject({ code: 'payload_too_large', message })
  })

  test('ends when the sender leaves, though all has arrived', async () => {
    const left = new AbortController()
    const bytes = bytesOf(Readable.from([Buffer.alloc(MIB)]), { ...plain, left: left.signal })
    await bytes.next()

    left.abort(new Error('left'))

    await expect(buffer(bytes)).rejects.toThrow('left')
  })
})

test('partsOf reads one file in a round of the event loop, while the turn lasts', async () => {
  let now = performance.now() + 1000
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  onTestFinished(() => {
    vi.restoreAllMocks()
  })
  let round = 0
  let goesOn = true
  const count = () => {
    round += 1
    if (goesOn) setImmediate(count)
  }
  setImmediate(count)
  const readIn: [round: number, file: number][] = []
  const read = async (file: number) => {
    for await (const _ of partsOf(Buffer.alloc(4 * PART_BYTES), undefined)) {
      readIn.push([round, file])
      now += 3
    }
  }

  await Promise.all(Array.from({ length: 20 }, (_, file) => read(file)))
  goesOn = false

  const rounds = [...Map.groupBy(readIn, ([at]) => at).values()]
  expect(readIn).toHaveLength(80)
  // A turn of 5 ms has room for two parts of 3 ms.
  expect(rounds.map((parts) => parts.length)).toEqual(Array(40).fill(2))
  expect(rounds.every((parts) => new Set(parts.map(([, file]) => file)).size === 1)).toBe(true)
})
