/** Percent-encoded bytes in paths and queries, over routes of their own. */
import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildApp } from '../../../api/http/app.ts'

const app = buildApp({})
beforeAll(async () => {
  const schema = { querystring: Type.Object({ search: Type.Optional(Type.String()) }) }
  app.get('/sims', { schema }, async ({ query }) => query)
  app.get('/sims/:id', async ({ params }) => params)
  await app.ready()
})
afterAll(() => app.close())

const get = async (url: string) => {
  const answer = await app.inject(url)
  return { status: answer.statusCode, body: JSON.parse(answer.body) }
}

describe('a query', () => {
  test.each(['Z%FCrich', '%ff', '%C3', '%C3%28', '%ED%A0%80', '%C0%AF', '%F5%80%80%80', '100%25%FC', '50%%FC'])(
    'with %s is 400, and the parameter is named',
    async (search) => {
      const detail = `got '${search}', which is not UTF-8: percent-encode the bytes of UTF-8`

      expect(await get(`/sims?page=1&search=${search}`)).toMatchObject({
        status: 400,
        body: { detail: `search: ${detail}.`, errors: [{ parameter: 'search', detail }] },
      })
    },
  )

  test('with such a name is 400', async () => {
    expect(await get('/sims?se%E4rch=a')).toMatchObject({ status: 400, body: { errors: [{ parameter: 'se%E4rch' }] } })
  })

  test.each([
    ['Z%C3%BCrich', 'Zürich'],
    ['100%', '100%'],
    ['50%25', '50%'],
    ['%25FC', '%FC'],
    ['a_b%+c', 'a_b% c'],
    ['%F0%9F%92%A9', '💩'],
  ])('with %s is read', async (search, read) => {
    expect(await get(`/sims?search=${search}`)).toEqual({ status: 200, body: { search: read } })
  })
})

describe('a path', () => {
  test.each(['Z%FCrich', '%FF', '%C3', '%ED%A0%80', '100%'])('with %s is 400', async (id) => {
    expect(await get(`/sims/${id}`)).toMatchObject({ status: 400, body: { detail: expect.stringContaining(id) } })
  })
})
