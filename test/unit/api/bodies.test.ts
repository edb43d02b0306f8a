/** What is refused of a body before any route sees it, over routes of each kind. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApp, takeNoBody } from '../../../api/http/app.ts'
import { checkBodies, isPacked } from '../../../api/http/bodies.ts'

const app = buildApp({})
beforeAll(async () => {
  await app.register(async (scope) => {
    checkBodies(scope)
    scope.post('/json', async ({ body }) => ({ got: body ?? 'nothing' }))
    await scope.register(async (files) => {
      const schema = { consumes: ['application/json', 'application/x-ndjson', 'text/csv'] }
      const asText = (_: unknown, body: Buffer) => Promise.resolve(String(body))
      const types = ['application/x-ndjson', 'application/ndjson', 'text/csv']
      files.addContentTypeParser(types, { parseAs: 'buffer' }, asText)
      files.post('/files', { schema }, async ({ body }) => ({ got: body }))
      files.post('/packed', { schema, config: { takesGzip: true } }, async (request) => ({
        got: isPacked(request, true) ? 'packed' : request.body,
      }))
    })
    await scope.register(async (bodiless) => {
      takeNoBody(bodiless)
      bodiless.post('/none', async () => ({ got: 'nothing' }))
    })
  })
  await app.ready()
})
afterAll(() => app.close())

const JSON_TYPE = 'application/json'
async function send(url: string, payload: string | Buffer | undefined, headers: Record<string, string>) {
  const answer = await app.inject({ method: 'POST', url, headers, ...(payload !== undefined && { payload }) })
  return { status: answer.statusCode, headers: answer.headers, body: JSON.parse(answer.body) }
}
const latin1 = (text: string) => Buffer.from(text, 'latin1')
const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le')

describe('a body', () => {
  test.each([
    ['in Latin-1', latin1('{"name":\n"Zürich"}'), 'body is not UTF-8, line 2 is the first that is not: '],
    ['cut in a character', Buffer.from('{"name":"Zü').subarray(0, -1), 'body is not UTF-8, line 1 is the first'],
    ['with half a surrogate pair', Buffer.from('{"name":"\xed\xa0\x80"}', 'latin1'), 'body is not UTF-8, line 1'],
    ['with a long form of a character', Buffer.from('{"name":"\xc0\xaf"}', 'latin1'), 'body is not UTF-8, line 1'],
    ['in UTF-16', utf16('{}'), 'body is not UTF-8, it looks like UTF-16'],
  ])('%s is 400 wherever text is read', async (_, body, detail) => {
    for (const url of ['/json', '/none']) {
      expect(await send(url, body, { 'content-type': JSON_TYPE })).toMatchObject({
        status: 400,
        body: { code: 'invalid_request', detail: expect.stringContaining(detail), errors: [{ pointer: '' }] },
      })
    }
  })

  test('is read without a byte order mark', async () => {
    const mark = { 'content-type': JSON_TYPE }

    expect((await send('/json', '\uFEFF{"a":"\uFEFF"}', mark)).body).toEqual({ got: { a: '\uFEFF' } })
    expect((await send('/json', '\uFEFF', mark)).body).toEqual({ got: 'nothing' })
    expect((await send('/none', '\uFEFF{}', mark)).body).toEqual({ got: 'nothing' })
    expect(await send('/json', '\uFEFF\uFEFF{}', mark)).toMatchObject({
      status: 400,
      body: { detail: "body is no JSON: Unexpected token 'U+FEFF'." },
    })
  })

  test('with a name that stands twice is 400, and the name is named', async () => {
    const detail = 'stands twice in its object: give each name once'

    expect(await send('/json', '{"a":{"b":1,"\\u0062":2}}', { 'content-type': JSON_TYPE })).toMatchObject({
      status: 400,
      body: { detail: `/a/b ${detail}.`, errors: [{ pointer: '/a/b', detail }] },
    })
  })
})

describe('Content-Type', () => {
  const OTHERS = ['application/xml', 'text/plain; charset=utf-8', 'application/merge-patch+json', 'json', undefined]

  test.each([
    ['/json', 'application/json'],
    ['/files', 'application/json, application/x-ndjson, text/csv'],
  ])('of %s is one of %s', async (url, accept) => {
    for (const type of OTHERS) {
      const answer = await send(url, Buffer.from('{}'), type === undefined ? {} : { 'content-type': type })

      const got = type === undefined ? 'none' : `'${type}'`
      const detail = `got ${got}, expected ${accept.replaceAll(', ', ' or ')}`
      const errors = [{ parameter: 'Content-Type', detail }]
      const body = { code: 'unsupported_media_type', detail: `Content-Type: ${detail}.`, errors }
      expect(answer).toMatchObject({ status: 415, headers: { accept }, body })
      expect(answer.headers).not.toHaveProperty('accept-encoding')
    }
    for (const type of accept.split(', ')) expect((await send(url, '{}', { 'content-type': type })).status).toBe(200)
    expect((await send(url, undefined, {})).status).toBe(200)
  })

  test.each([
    'charset=iso-8859-1',
    'charset=ISO-8859-1',
    'Charset="windows-1252"',
    'charset=utf-16',
    'charset=latin1; profile=x',
    'profile=x;charset = utf-7',
    'charset=utf-8; charset=iso-8859-1',
    "charset='cp1252'",
    'charset=utf-8859',
  ])('with %s is 415, whatever the body', async (charset) => {
    const types = { '/json': [JSON_TYPE], '/files': [JSON_TYPE, 'text/csv', 'application/ndjson'], '/none': ['a/b'] }
    for (const [url, each] of Object.entries(types)) {
      for (const type of each) {
        expect(await send(url, '{}', { 'content-type': `${type}; ${charset}` })).toMatchObject({
          status: 415,
          headers: { accept: expect.stringContaining(JSON_TYPE) },
          body: { detail: expect.stringMatching(/^Content-Type: got charset '[\w-]+', expected utf-8\.$/) },
        })
      }
    }
  })

  test.each([
    'charset=utf-8',
    'charset=UTF-8',
    'charset="utf-8"',
    'charset=utf8',
    'charset=us-ascii',
    'charset=',
    'profile="x"',
    '',
  ])('with %j is read as UTF-8', async (parameters) => {
    const headers = { 'content-type': `${JSON_TYPE}; ${parameters}` }
    expect((await send('/json', '{"name":"Zürich"}', headers)).body).toEqual({ got: { name: 'Zürich' } })
  })

  test('says nothing of no bytes', async () => {
    const headers = { 'content-type': `${JSON_TYPE}; charset=iso-8859-1`, 'content-encoding': 'gzip' }
    for (const url of ['/json', '/none']) expect((await send(url, '', headers)).body).toEqual({ got: 'nothing' })
  })
})

describe('Content-Encoding', () => {
  test.each(['gzip', 'GZIP', 'x-gzip', 'X-GZip', ' gzip ', 'identity, gzip', 'gzip,', 'Gzip, identity'])(
    '%j is gzip',
    async (coding) => {
      const headers = { 'content-type': 'text/csv', 'content-encoding': coding }

      expect((await send('/packed', 'a', headers)).body).toEqual({ got: 'packed' })
    },
  )

  test.each(['', 'identity', 'Identity', 'identity, IDENTITY', ' , '])('%j is none', async (coding) => {
    for (const url of ['/packed', '/files', '/json', '/none']) {
      expect((await send(url, '{}', { 'content-type': JSON_TYPE, 'content-encoding': coding })).status).toBe(200)
    }
  })

  test.each(['br', 'deflate', 'zstd', 'compress', 'gzip, gzip', 'gzip, br', 'x-gzip, gzip', 'gzip;q=1'])(
    '%j is 415 where gzip is taken',
    async (coding) => {
      const answer = await send('/packed', gzipSync('a'), { 'content-type': 'text/csv', 'content-encoding': coding })

      expect(answer).toMatchObject({
        status: 415,
        headers: { 'accept-encoding': 'gzip' },
        body: { errors: [{ parameter: 'Content-Encoding', detail: `got '${coding}', expected gzip or none` }] },
      })
      expect(answer.headers).not.toHaveProperty('accept')
    },
  )

  test.each(['gzip', 'GZIP', 'x-gzip', 'br', 'identity, gzip'])(
    '%j is 415 where no coding is taken',
    async (coding) => {
      for (const url of ['/json', '/files', '/none']) {
        const answer = await send(url, gzipSync('{}'), { 'content-type': JSON_TYPE, 'content-encoding': coding })

        expect(answer).toMatchObject({
          status: 415,
          headers: { 'accept-encoding': 'identity' },
          body: { detail: `Content-Encoding: got '${coding}', expected none.` },
        })
        expect(answer.headers).not.toHaveProperty('accept')
      }
    },
  )

  test('that is missing for a packed body is 415', async () => {
    for (const url of ['/json', '/none']) {
      expect(await send(url, gzipSync('{}'), { 'content-type': JSON_TYPE })).toMatchObject({
        status: 415,
        headers: { 'accept-encoding': 'identity' },
        body: { detail: 'Content-Encoding: got none, though the body is packed with gzip.' },
      })
    }
  })
})
