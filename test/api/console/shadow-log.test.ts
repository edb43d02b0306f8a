/** The shadow log: its entries, filters and parts. */
import { beforeEach, expect, test } from 'vitest'
import type { NewShadowEntry } from '../../../service/alerts/rows/shadow-log.ts'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { aPool, useHarness } from '../harness.ts'
import { type Browser, escaped, linksIn, useConsole } from './form-browser.ts'
import { writeShadowLog } from './rule-trials.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })
const path = (query = '') => `/t/${harness.tenant.id}/shadow-log${query}`

const write = (entries: readonly Partial<NewShadowEntry>[]) => writeShadowLog(harness, entries)

let browser: Browser
beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
})
const messagesIn = (body: string) => [...body.matchAll(/<span><bdi>([^<]*)<\/bdi>/g)].map(([, message]) => message)
const shown = async (query: string) => messagesIn((await browser.get(path(query))).body)

test('says what goes there while it is empty', async () => {
  expect((await browser.get(path())).body).toContain('No entry: no rule with')
  expect((await browser.get(path('?does=mail'))).body).toContain('No entry matches.')
})

test('shows entries with what the rule would have done, and leads to the SIM and the pool', async () => {
  const poolId = await aPool(harness.tenant, { name: 'North <1>' })
  await write([
    { message: 'SIM 17 is over', does: 'suspend', simId: 17, poolId },
    { message: 'All are silent', does: 'mail', rule: 'fleet', ruleVersion: 2 },
  ])
  const { body } = await browser.get(path())

  expect(messagesIn(body).toSorted()).toEqual(['All are silent', 'SIM 17 is over'])
  expect(linksIn(body)).toEqual(
    expect.arrayContaining([`/t/${harness.tenant.id}/sims/17`, `/t/${harness.tenant.id}/pools/${poolId}`]),
  )
  expect(body).toContain('<bdi>North &lt;1&gt;</bdi>')
  expect(body).toContain('<td>Suspend<small>')
  expect(body).toContain('<bdi>fleet</bdi>, version 2')
  expect(body).toContain('2 entries')
})

test('is filtered by action, rule, version and day', async () => {
  const day = new Date(harness.now).toISOString().slice(0, 10)

  expect(await shown('?does=suspend')).toEqual(['SIM 17 is over'])
  expect(await shown('?rule=fleet&does=')).toEqual(['All are silent'])
  expect(await shown('?version=2')).toEqual(['All are silent'])
  expect(await shown(`?date=${day}&version=1`)).toEqual(['SIM 17 is over'])
  expect(await shown('?date=2026-01-01')).toEqual([])
})

test.each(['?does=explode', '?version=0', '?date=today', '?cursor=x'])('refuses the filter %s', async (query) => {
  expect((await browser.get(path(query))).status).toBe(400)
})

test('shows the words of others as text, in parts of fifty', async () => {
  // PostgreSQL keeps no zero bytes.
  const names = HOSTILE_NAMES.map((name) => name.replaceAll('\u0000', '').toWellFormed())
  const rest = Array.from({ length: 50 }, () => ({}))
  await write([...names.map((message) => ({ message })), ...rest])
  const first = await browser.get(path('?does=log'))
  const next = linksIn(first.body).find((href) => href?.includes('cursor=')) ?? ''
  const second = await browser.get(next)

  for (const name of names) expect(first.body + second.body).toContain(`<bdi>${escaped(name)}</bdi>`)
  expect(first.body.match(/id="entry-/g)).toHaveLength(50)
  expect(next).toContain('does=log')
  expect(second.body.match(/id="entry-/g)).toHaveLength(names.length)
})
