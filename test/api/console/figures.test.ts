/** A figure reads the same wherever it is: on pages, in the statement and its CSV, in the mail. */
import { beforeAll, describe, expect, test } from 'vitest'
import { mailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import { amount, money } from '../../../domain/quantity.ts'
import { sendMails } from '../../../service/channels/send-mails.ts'
import { aMailbox, RETRIES } from '../../service/channels/post.ts'
import { recordUsage } from '../../service/record-usage.ts'
import { anActiveSim, aPool, aTariff, aTenant, type Tenant, useHarness } from '../harness.ts'
import { type Browser, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness, { clock: () => harness.now })
const [LAST_MOMENT, AFTER] = [Date.UTC(2026, 11, 1) - 1, Date.UTC(2026, 11, 1, 6)]

let of: Tenant
let simId: number
let poolId: number
let browser: Browser
beforeAll(async () => {
  of = await aTenant(harness, 'Figures')
  poolId = await aPool(of, { name: 'Vans', type: 1, tariffId: await aTariff(of, 1) })
  simId = (await anActiveSim(harness, of, { poolId }, { tag: 'van 7' })).id
  const at = new Date(harness.now).toISOString()
  const used = { bytesUp: 234_567_891, bytesDown: 1_000_000_000, voiceSeconds: 610, smsCount: 1208 }
  await recordUsage(harness.store, of.id, [{ recordId: 'r', simId, at, ...used }])
  browser = await pages.signedIn(harness.operatorKey)
})

/** The words of a page below the tenant's. */
async function wordsOf(path: string): Promise<string> {
  const { status, body } = await browser.get(`/t/${of.id}${path}`)
  expect(status, path).toBe(200)
  return body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
}
const costOf = async () => (await of.inside('GET', '/internal/cycles/2026-11/cost')).body

describe('in the running cycle', () => {
  test.each([
    ['usage and limit', '1.23 GB of 500 MB', ['', '/pools', '/pools/P', '/sims', '/sims/S', '/my', '/month/2026-11']],
    ['the usage of all SIMs', '1.23 GB', ['', '/pools/P', '/sims/S']],
    ['the overage', '734 MB', ['/pools/P', '/my', '/month/2026-11']],
    ['voice', '10 min 10 s', ['', '/pools/P', '/sims/S', '/my', '/month/2026-11']],
    ['SMS', '1,208', ['', '/pools/P', '/sims/S', '/my', '/month/2026-11']],
  ])('%s', async (_, figure, paths) => {
    for (const path of paths)
      expect(await wordsOf(path.replace('P', `${poolId}`).replace('S', `${simId}`)), path).toContain(figure)
  })

  test('the cost', async () => {
    const { soFar } = await costOf()

    expect(soFar.overageMicro).toBeGreaterThan(1_000_000)
    for (const path of ['/my', '/month/2026-11']) {
      const words = await wordsOf(path)
      expect(words, path).toContain(money(soFar.totalMicro, 'EUR'))
      for (const part of ['feeMicro', 'overageMicro', 'voiceMicro', 'smsMicro'])
        expect(words, `${path}: ${part}`).toContain(amount(soFar[part], 'EUR'))
    }
  })
})

test('the forecast at the end of a cycle is its statement, on pages, in the CSV and in the mail', async () => {
  const forecast = await harness.at(LAST_MOMENT, async () => {
    const at = new Date(LAST_MOMENT).toISOString()
    await recordUsage(harness.store, of.id, [{ recordId: 'last', simId, at, smsCount: 0 }])
    return (await costOf()).forecast
  })
  const { transport, arrived } = await aMailbox()
  await harness.at(AFTER, async () => {
    await of.inside('POST', '/internal/cycles/2026-11/close')
    await sendMails(harness.store, mailChannel(transport), RETRIES, of.id)
  })
  const statement = (await of.inside('GET', '/internal/cycles/2026-11/statement')).body
  const [header = '', ...lines] = (await of.inside('GET', '/internal/cycles/2026-11/statement.csv')).body
    .replace('\uFEFF', '')
    .trim()
    .split(/\r?\n/)
  const column = header.split(',').indexOf('total')
  const sum = lines.reduce(
    (micro: number, line: string) => micro + Math.round(Number(line.split(',')[column]) * 1e6),
    0,
  )
  const total = money(statement.totalMicro, 'EUR')
  const [mail] = (await arrived()).filter(({ subject }) => subject.includes('November 2026'))

  expect(forecast.totalMicro).toBe(statement.totalMicro)
  expect(sum).toBe(statement.totalMicro)
  for (const path of ['/my?cycle=2026-11', '/my/statements', '/month/2026-11'])
    expect(await wordsOf(path), path).toContain(total)
  expect(`${mail?.subject}\n${mail?.text}`).toContain(total)
  for (const figure of ['1.23 GB of 500 MB', '734 MB']) expect(mail?.text, figure).toContain(figure)
})
