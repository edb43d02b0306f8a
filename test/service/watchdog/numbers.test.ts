/** What people read of an alert's figures, in the log, in events and in mails. */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { renderMail } from '../../../adapters/channels/mail/render-mail.ts'
import { numbersOf, wordsOf } from '../../unit/channels/reading.ts'
import { asShipped, aWorld, only } from './alert-world.ts'

const RULES = only({ 'sim-overage': asShipped, 'sim-usage-warning': asShipped, 'pool-usage-warning': asShipped })

async function aBerliner() {
  const world = await aWorld({ rules: RULES })
  await world.rows(sql`update tenants set time_zone = 'Europe/Berlin'`)
  return { ...world, messages: async () => (await world.log()).map(({ message }) => message) }
}

test('80.254 % is 80.2 % everywhere', async () => {
  const world = await aBerliner()
  await world.use(world.sim, 80.254)

  const mails = (await world.notices()).map((notice) => renderMail([notice]))
  const texts = [
    ...(await world.messages()),
    ...mails.flatMap(({ subject, text, html }) => [subject, text, wordsOf(html)]),
  ]
  expect(mails).toHaveLength(2)
  expect(texts).toHaveLength(8)
  for (const text of texts) {
    expect(text).toContain('80.2 %')
    expect(numbersOf(text)).not.toContain('80.254')
  }
  expect(mails.map(({ subject }) => subject)).toContain('Pool meters at 80.2 % (80.2 of 100 MB)')
  const events = await world.rows(sql`select description from events`)
  for (const description of await world.messages()) expect(events).toContainEqual({ description })
})

test('a mail names a SIM by its tag, and the log by its ICCID', async () => {
  const world = await aBerliner()
  await world.asTenant((tx) => sql`update sims set tag = 'meter-012' where id = ${world.sim}`.execute(tx.q))
  await world.use(world.sim, 100.18)

  const [notice] = (await world.notices()).filter(({ rule }) => rule.name === 'sim-overage')
  const [row] = await world.rows(sql<{ iccid: string }>`select iccid from sims where id = ${world.sim}`)
  const iccid = row?.iccid ?? ''
  expect(notice).toMatchObject({
    timeZone: 'Europe/Berlin',
    subject: { label: 'meter-012', iccid },
    message: expect.stringMatching(/^SIM meter-012 is 180 kB over its limit: /),
    follows: 'suspended',
    why: [{ fact: 'overageMB', unit: 'MB' }],
  })
  expect(await world.messages()).toContainEqual(expect.stringMatching(new RegExp(`^SIM ${iccid} is 180 kB over`)))
})

test('a pool above its limit is over, and is not foretold to pass it', async () => {
  const world = await aBerliner()
  await world.use(world.sim, 111)

  const notice = (await world.notices()).find(({ rule }) => rule.name === 'pool-usage-warning')
  expect(notice).toMatchObject({ pace: null, facts: { usagePct: 111 } })
  const { subject, text } = renderMail(notice === undefined ? [] : [notice])
  expect(subject).toBe('Pool meters over its limit, at 111 % (111 of 100 MB)')
  expect(text).not.toContain('At this pace')
})
