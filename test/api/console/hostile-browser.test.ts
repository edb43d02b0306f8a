/** Drawn words of others in Chromium: they run nothing, break no page, and are read back as they were stored. */
import fc from 'fast-check'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { LogLevel } from '../../../domain/codes.ts'
import { insertLogEntries, type NewLogEntry } from '../../../store/log.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { SEED } from '../../setup/seed.ts'
import { hostileText } from '../../unit/channels/hostile.ts'
import { writeMail } from '../channels/a-mail.ts'
import { anIccid, aPool, useHarness } from '../harness.ts'
import { hasChromium, openPage, signIn, useChromium } from './chromium.ts'

const SUITE = 'words of others in the console'
const harness = useHarness()
/** On a page of a list; the log shows its newest entries alone. */
const [ON_A_PAGE, IN_THE_LOG] = [40, 5]

/** Texts that PostgreSQL stores, of so many characters at most. */
const drawWords = (count: number, most: number): string[] =>
  fc
    .sample(hostileText, { numRuns: count, seed: SEED })
    .map((text) => `${text.slice(0, most)}javascript:alert(1)`.slice(-most).replaceAll('\0', '').toWellFormed())

/** As HTML reads line ends (HTML standard, 13.2.3.5). */
const asRead = (text: string) => text.replaceAll(/\r\n?/g, '\n')

describe.runIf(await hasChromium(SUITE))(SUITE, () => {
  const shown = useChromium(harness)
  let page: Page
  let said: string[]
  const inside = (...asked: Parameters<typeof harness.tenant.inside>) => harness.tenant.inside(...asked)
  const pageOf = (path: string) => `${shown.url}/t/${harness.tenant.id}${path}`
  beforeAll(async () => {
    const opened = await openPage(shown)
    page = opened.page
    said = opened.said
    page.on('dialog', (dialog) => {
      said.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    await signIn(page, harness.operatorKey)
  })

  /** Opens a page, and compares its texts of others with the stored ones. */
  async function expectRead(path: string, stored: readonly string[]): Promise<void> {
    const answer = await page.goto(pageOf(path))
    const texts = await page.evaluate<string[]>(
      `[...document.querySelectorAll('main bdi')].map((one) => one.textContent)`,
    )
    const added = await page.evaluate<string[]>(
      `[...document.querySelectorAll('main *')].filter((one) => one.matches('script, iframe, [onmouseover], [href^="javascript:"]')).map((one) => one.outerHTML)`,
    )

    expect({ path, status: answer?.status(), added, said }).toEqual({ path, status: 200, added: [], said: [] })
    expect(stored.map(asRead).filter((text) => !texts.includes(text))).toEqual([])
  }

  test('as tags of SIMs: in lists, on pages and forms, and in the search field', async () => {
    const sims = drawWords(ON_A_PAGE, 128).map((tag) => ({ iccid: anIccid(), tag }))
    await inside('POST', '/internal/sims', { sims })
    const { body } = await harness.tenant.ask('GET', '/api/sims?pageSize=100')
    const stored = body.data.map(({ id, tag }: { id: number; tag: string }) => ({ id, tag }))
    expect(stored.length).toBeGreaterThan(ON_A_PAGE / 2)
    await expectRead(
      '/sims',
      stored.map(({ tag }: { tag: string }) => tag),
    )
    for (const { id, tag } of stored.slice(0, 5)) {
      await expectRead(`/sims/${id}`, [tag])
      await expectRead(`/sims/${id}/threshold`, [tag])
      await page.goto(pageOf(`/find?q=${encodeURIComponent(tag)}x`))
      expect(await page.locator('#find').inputValue()).toBe(`${tag}x`.replaceAll(/[\r\n]/g, ''))
    }
  })

  test('as names of pools, and reasons of silences', async () => {
    for (const name of drawWords(10, 50)) await aPool(harness.tenant, { name })
    const pools = (await harness.tenant.ask('GET', '/api/pools')).body.data.map((one: { name: string }) => one.name)
    for (const reason of drawWords(ON_A_PAGE, 500))
      await inside('POST', '/internal/silences', { rule: 'r', lasts: 'P1D', reason })
    const silences = (await inside('GET', '/internal/silences?pageSize=100')).body.data
    expect([pools.length, silences.length]).toEqual([expect.toSatisfy((n) => n > 5), expect.toSatisfy((n) => n > 20)])
    await expectRead('/pools', pools)
    await expectRead(
      '/silences',
      silences.map(({ reason }: { reason: string }) => reason),
    )
  })

  test('as subjects of mails, answers of SMTP servers, and messages of the log', async () => {
    for (const subject of drawWords(10, 200)) {
      const answer = `554 ${subject}`
      const id = await writeMail(harness, harness.tenant, { subject, attempts: [['refused', answer]] })
      await expectRead('/mails', [subject])
      await expectRead(`/mails/${encodeURIComponent(id)}`, [answer])
    }
    const messages = drawWords(IN_THE_LOG, 500)
    const entries = messages.map(
      (message, n): NewLogEntry => ({
        dedupeKey: `hostile ${n}`,
        rule: null,
        ruleVersion: null,
        simId: null,
        poolId: null,
        level: LogLevel.Warning,
        message,
        cycleKey: '',
        explanation: null,
      }),
    )
    await inTenant(harness.store, harness.tenant.id, (tx) => insertLogEntries(tx, entries))
    await expectRead('', messages)
  })
})
