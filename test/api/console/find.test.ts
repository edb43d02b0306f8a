import { beforeEach, describe, expect, test } from 'vitest'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { aPool, aSim, useHarness } from '../harness.ts'
import { type Browser, escaped, linksIn, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness)

let browser: Browser
beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
})
const find = (q: string, from = browser) => from.get(`/t/${harness.tenant.id}/find?q=${encodeURIComponent(q)}`)
const pathOf = (noun: string, id: number | string) => `/t/${harness.tenant.id}/${noun}/${id}`
const whereTo = async (q: string) => {
  const { status, headers } = await find(q)
  return [status, headers['location']]
}

describe('the only one is gone to', () => {
  test('by ICCID in groups, or its last digits', async () => {
    const { id } = await aSim(harness.tenant, { iccid: '8944509902197777712', tag: 'goal' })

    for (const q of ['8944 5099 0219 7777 712', '7777712', 'GOAL'])
      expect(await whereTo(q)).toEqual([303, pathOf('sims', id)])
  })

  test('of other kinds', async () => {
    const sim = await aSim(harness.tenant)
    const poolId = await aPool(harness.tenant, { name: 'Only one' })
    const { body } = await harness.tenant.ask('POST', '/api/tickets/provision', { simId: sim.id, poolId })

    expect(await whereTo('only')).toEqual([303, pathOf('pools', poolId)])
    expect(await whereTo(body.id)).toEqual([303, pathOf('tickets', body.id)])
  })
})

test('several are listed, each with its page', async () => {
  const sims = [await aSim(harness.tenant, { tag: 'twin 1' }), await aSim(harness.tenant, { tag: 'twin 2' })]
  const { status, body } = await find('twin')

  expect(status).toBe(200)
  for (const { id } of sims) expect(linksIn(body)).toContain(pathOf('sims', id))
  expect(linksIn(body)).toContain(`/t/${harness.tenant.id}/sims?search=twin`)
})

test('an order is led to, beside the SIMs with its digits', async () => {
  const { body: order } = await harness.tenant.ask('POST', '/api/orders', { type: 2, quantity: 1 })
  const { body } = await find(String(order.id).padStart(5, '0'))

  expect(linksIn(body)).toContain(pathOf('orders', order.id))
})

test('a part of a number leads to its SIMs, if nothing begins with it', async () => {
  for (const end of [1, 2]) await aSim(harness.tenant, { iccid: `894450990215555550${end}` })
  const { body } = await find('555555')

  expect(body).toContain('2 SIMs have it')
  expect(linksIn(body)).toContain(`/t/${harness.tenant.id}/sims?search=555555`)
})

test('what is nowhere is said, with what find takes', async () => {
  const { status, body } = await find('nowhere at all')

  expect(status).toBe(200)
  expect(body).toContain('Nothing is, or begins with, <bdi>nowhere at all</bdi>.')
  expect(body).toContain('value="nowhere at all"')
})

test('bad text is refused by name, and stays in its field', async () => {
  const long = 'x'.repeat(301)
  const answers = [await find(long), await find('')]

  expect(answers.map(({ status }) => status)).toEqual([400, 400])
  for (const { body } of answers) expect(body).toMatch(/role="alert"[^]*\bq\b/)
  expect(answers[0]?.body).toContain(`value="${long}"`)
})

test('text of others is text', async () => {
  for (const name of HOSTILE_NAMES) {
    const { status, body } = await find(name.toWellFormed())

    expect(status).toBeLessThan(500)
    if (status === 200) expect(body).toContain(`value="${escaped(name.toWellFormed())}"`)
  }
})

describe('the field', () => {
  test('stands on every page of an operator about a tenant', async () => {
    for (const path of ['', '/sims', '/alerts', '/find?q=x', '/sims/999999999']) {
      const { body } = await browser.get(`/t/${harness.tenant.id}${path}`)
      expect(body.match(/type="search"/g), path).toHaveLength(1)
    }
  })

  test("is not for a tenant's key, which may not find", async () => {
    const own = await pages.signedIn(harness.tenant.key)

    expect((await own.get(`/t/${harness.tenant.id}`)).body).not.toContain('type="search"')
    expect((await find('x', own)).status).toBe(403)
  })

  test('finds nothing of another tenant', async () => {
    const { iccid } = await aSim(harness.tenant)
    const { body } = await browser.get(`/t/${harness.other.id}/find?q=${iccid}`)

    expect(body).toContain('Nothing is, or begins with')
  })
})
