/** What no operation takes of a body: other types, charsets, codings and bytes, and names that stand twice. */
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { useHarness } from '../harness.ts'
import { fill, LISTENERS, PATHS } from './samples.ts'

const harness = useHarness()

const operations = LISTENERS.flatMap((listener) =>
  Object.entries(PATHS[listener]).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([name, { requestBody }]) => {
      if (name === 'get') return []
      const [method, types] = [name.toUpperCase(), Object.keys(requestBody?.content ?? {})]
      const send = (body: string | Buffer, headers: Record<string, string>) =>
        harness.tenant[listener === 'outside' ? 'ask' : 'inside'](method, fill(path, '1'), body, headers)
      return [{ call: `${method} ${path}`, types, send }]
    }),
  ),
)
const USAGE = 'POST /internal/usage'
const JSON_TYPE = { 'content-type': 'application/json' }
/** Of a body; JSON where none is taken. */
const typesOf = (types: string[]) => (types.length === 0 ? ['application/json'] : types)
const withBody = operations.filter(({ types }) => types.length > 0)

describe('a body', () => {
  test('is there for most operations that change something', () => {
    expect(operations.length).toBeGreaterThan(60)
    expect(withBody.length).toBeGreaterThan(40)
  })

  test.each(withBody)('of $call has a type that is documented, or 415 names those', async ({ types, send }) => {
    const others = ['application/xml', 'text/plain', 'application/octet-stream', 'multipart/form-data; boundary=x']
    for (const type of others) {
      const answer = await send('{}', { 'content-type': type })

      expect(answer).toMatchObject({ status: 415, headers: { accept: types.join(', ') } })
      expect(answer.body.detail).toBe(`Content-Type: got '${type}', expected ${types.join(' or ')}.`)
    }
    for (const type of types) expect((await send('[', { 'content-type': type })).status).not.toBe(415)
  })

  test.each(operations)('of $call in another charset is 415', async ({ types, send }) => {
    for (const type of typesOf(types)) {
      expect(await send('{}', { 'content-type': `${type}; charset=ISO-8859-1` })).toMatchObject({
        status: 415,
        headers: { accept: expect.stringContaining('application/json') },
        body: { detail: "Content-Type: got charset 'ISO-8859-1', expected utf-8." },
      })
    }
  })

  test.each(operations)('of $call in another coding, or packed unsaid, is 415', async ({ call, types, send }) => {
    const codings = call === USAGE ? ['br', 'gzip, gzip'] : ['gzip', 'X-GZIP', 'br']
    for (const coding of codings) {
      const answer = await send(gzipSync('{}'), { ...JSON_TYPE, 'content-encoding': coding })

      const headers = { 'accept-encoding': call === USAGE ? 'gzip' : 'identity' }
      const detail = expect.stringContaining(`Content-Encoding: got '${coding}', expected `)
      expect(answer).toMatchObject({ status: 415, headers, body: { detail } })
      expect(answer.headers).not.toHaveProperty('accept')
    }
    const detail = 'Content-Encoding: got none, though the body is packed with gzip.'
    const refused = { status: 415, headers: { 'accept-encoding': 'identity' }, body: { detail } }
    for (const type of call === USAGE ? [] : typesOf(types)) {
      expect(await send(gzipSync('{}'), { 'content-type': type })).toMatchObject(refused)
    }
  })

  test.each(operations)('of $call is UTF-8, each name once', async ({ call, types, send }) => {
    const latin1 = await send(Buffer.from('{"name":"Zürich"}', 'latin1'), JSON_TYPE)
    expect([latin1.status, latin1.body.detail]).toEqual([400, expect.stringContaining('not UTF-8, line 1')])
    if (types.length === 0) return
    const body = call === USAGE ? '{"records":[],"a":{"b":1,"b":2}}' : '{"a":{"b":1,"b":2}}'
    const twice = await send(body, JSON_TYPE)
    expect([twice.status, twice.body.errors?.[0].pointer]).toEqual([400, '/a/b'])
  })
})
