/** What the log takes, whoever writes to it. */
import { describe, expect, test } from 'vitest'
import { createLog } from '../../../process/create-log.ts'

const MOST_BYTES = 4096
const KEY = 'sim_0123456789ab_abcdefghijklmnopqrstuvwxyz_-ABCDEFGHIJ01234'
const MEGABYTE = 'x'.repeat(1_000_000)

/** The lines that are written. */
function written(write: (log: ReturnType<typeof createLog>) => void): string[] {
  const lines: string[] = []
  write(createLog({ LOG_LEVEL: 'debug' }, 'worker', { write: (line) => void lines.push(line) }))
  return lines
}

const nested = (levels: number): object =>
  levels === 0 ? { end: MEGABYTE } : { name: 'a'.repeat(100), next: nested(levels - 1) }
const failed = (message: string, more: object = {}, cause?: unknown) =>
  Object.assign(new Error(message, { cause }), more)

describe('a line of the log', () => {
  const ofPostgres = failed('no', { detail: `Key (tag)=(${MEGABYTE})`, where: MEGABYTE, hint: MEGABYTE })
  const caused = failed(MEGABYTE, {}, failed(MEGABYTE, {}, failed('last')))
  const many = <T>(length: number, make: (n: number) => T) => Array.from({ length }, (_, n) => make(n))
  test.each<[string, (log: ReturnType<typeof createLog>) => void]>([
    ['a message', (log) => log.warn(MEGABYTE)],
    ['a message of bytes that JSON escapes', (log) => log.warn('\u0001"\\'.repeat(100_000))],
    ["a carrier's answer", (log) => log.warn({ reason: MEGABYTE }, 'a ticket failed')],
    ["a mail server's reply", (log) => log.error({ err: failed('no', { response: MEGABYTE }) }, 'no')],
    ['an error of PostgreSQL', (log) => log.error({ err: ofPostgres }, 'no')],
    ['an error, its stack and its causes', (log) => log.error({ err: caused }, 'no')],
    ['many errors', (log) => log.error({ err: new AggregateError(many(1000, (n) => failed(`${n}`))) }, 'no')],
    ['a failure of Temporal', (log) => log.warn({ failure: nested(60), stackTrace: MEGABYTE }, 'Activity failed')],
    ['a list', (log) => log.info({ faults: many(10_000, (n) => ({ pointer: `/${n}` })) }, 'faults')],
    ['many fields', (log) => log.info(Object.fromEntries(many(5000, (n) => [`field ${n}`, n])), 'fields')],
    ['the name of a field', (log) => log.info({ [MEGABYTE]: 1, [`${MEGABYTE}y`]: 2 }, 'names')],
    ['what a child of the log always says', (log) => log.child({ reqId: 'r', host: MEGABYTE }).info('child')],
    ['halves of surrogate pairs', (log) => log.info({ text: '\ud83d'.repeat(10_000) }, '💩'.repeat(10_000))],
  ])('is bounded whatever is in %s', (_, write) => {
    const [line = '', ...others] = written(write)

    expect(others).toEqual([])
    expect(Buffer.byteLength(line)).toBeLessThanOrEqual(MOST_BYTES)
    expect(line.endsWith('}\n')).toBe(true)
    expect(line.slice(0, -1)).not.toContain('\n')
    const [time, msg] = [expect.any(String), expect.any(String)]
    expect(JSON.parse(line)).toMatchObject({ level: expect.any(Number), time, msg })
    expect(line).not.toMatch(/\\ud[89a-f]/i)
  })

  test('keeps both ends of what it cuts, and all that is short', () => {
    const [line = ''] = written((log) =>
      log.error({ err: failed(`begins ${MEGABYTE} ends`), queue: 'tickets' }, 'a job failed'),
    )

    const { err, queue, msg } = JSON.parse(line)
    expect([queue, msg]).toEqual(['tickets', 'a job failed'])
    expect(err.message).toMatch(/^begins x+…x+ ends$/)
    expect(err.stack).toContain('log.test.ts')
  })

  test('is left as it is if it is not too long', () => {
    const [line = ''] = written((log) => log.info({ text: 'x'.repeat(3000) }, 'whole'))

    expect(JSON.parse(line).text).toBe('x'.repeat(3000))
  })

  test('has no value of a secret field, at any level', () => {
    const secrets = {
      password: 'hidden',
      Authorization: 'hidden',
      esimQrPayload: ['hidden'],
      databaseUrl: { at: 'hidden' },
    }
    const text = '{"key":"a text may name it"}'
    const [line = ''] = written((log) =>
      log.child({ secret: 'hidden' }).info({ ...secrets, a: [{ b: { c: { d: { key: 'hidden' } } } }], text }, 'shown'),
    )

    expect(line).not.toContain('hidden')
    const d = { key: '[redacted]' }
    expect(JSON.parse(line)).toMatchObject({
      Authorization: '[redacted]',
      a: [{ b: { c: { d } } }],
      text,
      msg: 'shown',
    })
  })

  test('has no key and no token, wherever it stands', () => {
    const link = 'https://iot.example/n/WyJhY2siXQ.abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG'
    const lines = written((log) => {
      log.info(`asked with ${KEY}`)
      log.warn({ reason: `550 no ${link}`, deep: { deeper: { deepest: [{ text: KEY }] } } }, 'refused')
      log.error({ err: failed(`no ${KEY}`, { detail: `(${KEY})` }, failed(link)) }, 'failed')
      log.child({ reqId: KEY }).info({ [KEY]: 1 }, 'child')
    })

    expect(lines.join('')).not.toMatch(/abcdefghij|WyJ/)
    expect(lines).toHaveLength(4)
    for (const line of lines) expect(() => JSON.parse(line)).not.toThrow()
    expect(lines[0]).toContain('asked with sim_0123456789ab_…')
  })
})
