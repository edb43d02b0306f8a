/** Every kind of mail, and the ten of them that docs/alerts.md shows. */
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { renderMail } from '../../../adapters/channels/mail/render-mail.ts'
import { renderOperatorMail } from '../../../adapters/channels/mail/render-operator-mail.ts'
import { EVERY_KIND, OPERATOR_NOTICES } from './every-kind.ts'
import { MAIL_LINKS } from './notifications.ts'
import { linksOf, numbersOf, wordsOf } from './reading.ts'

const kinds = Object.keys(EVERY_KIND)
const mailOf = (kind: string) => renderMail(EVERY_KIND[kind] ?? [], MAIL_LINKS)

/** What a list of mails shows beside the subject. */
const previewOf = (html: string): string =>
  wordsOf(/<div style="display:none[^>]*>([^<]*)</.exec(html)?.[1] ?? '').replaceAll('\u00a0', ' ')

describe.each(kinds)('a mail of kind %s', (kind) => {
  const mail = mailOf(kind)
  const { subject, text, html } = mail

  test('says who, how much and what follows in a subject of at most 70 characters', () => {
    expect(subject.length).toBeGreaterThan(10)
    expect(subject.length).toBeLessThanOrEqual(70)
    // The name, or how many.
    expect(subject).toMatch(/\d|North|meter|Usage/)
    expect(wordsOf(html)).not.toMatch(/undefined|null|NaN|\{\{/)
    expect(text).not.toMatch(/undefined|null|NaN|\{\{/)
  })

  test('has a preview that says something else than its subject', () => {
    expect(previewOf(html).length).toBeGreaterThan(10)
    expect(previewOf(html)).not.toContain(subject)
  })

  test('repeats every number and link in its text', () => {
    const numbers = numbersOf(wordsOf(html))
    expect(numbers.length).toBeGreaterThan(5)
    expect(numbers.filter((number) => !text.includes(number))).toEqual([])

    expect(linksOf(html).filter((link) => !text.includes(`: ${link}\n`))).toEqual([])
  })

  test('fits small and dark screens, and loads nothing', () => {
    expect(html).toContain('lang="en"')
    expect(html).toContain('<meta name="color-scheme" content="light dark">')
    expect(html).toContain('@media (prefers-color-scheme: dark)')
    expect(html).toContain('max-width:600px')
    const tables = html.match(/<table\b[^>]*>/g) ?? []
    expect(tables.filter((table) => !table.includes('role="presentation"'))).toEqual([])
    expect(html).not.toMatch(/<(img|script|link|iframe|form)\b|@import|@font-face|url\(/i)
  })

  test('is the same mail each time', () => {
    expect(mailOf(kind)).toEqual(mail)
  })

  test('says how to stop only what has not ended', () => {
    const hasEnded = [
      'resolved',
      'resolved-pool',
      'resolved-list',
      'brought-back',
      'brought-back-several',
      'feed-back',
    ].includes(kind)
    const isSummary = kind.startsWith('summary')
    for (const part of [text, wordsOf(html)]) {
      expect(/How to (stop this|bring a SIM back)|What to do/.test(part)).toBe(!hasEnded && !isSummary)
    }
  })
})

test('a hold names who decides it, and neither commands nor paths', () => {
  for (const kind of ['held-suspensions', 'held-alerts']) {
    const { text } = mailOf(kind)
    expect(text).toContain('What to do: Tell the operator of the service whether the ')
    expect(text).toContain('The operator of the service decides on hold 3 until')
    expect(text).not.toMatch(/POST|\/internal\/|npx/)
  }
})

test('what is suspended already is not said to be suspended next', () => {
  const { text } = mailOf('cause-pool')

  expect(text).not.toContain('The watchdog suspends')
  expect(text).toContain('What happens next: They come back once the rule no longer holds')
})

test('an end does not give the conditions that no longer hold as its reason', () => {
  expect(mailOf('alert-pool-warning').text).toContain('Why\n')
  expect(mailOf('resolved-pool').text).not.toContain('Why\n')
})

test('a feed that is silent says nothing of limits', () => {
  const { text, html } = mailOf('feed-stale')

  expect(text).not.toContain('Over the limit')
  expect(previewOf(html)).not.toContain('over since')
})

test('several graces say when each SIM is suspended', () => {
  expect(mailOf('grace-of-several').text.match(/grace began .* · suspended at 2026-11-22 09:40 \+01:00/g)).toHaveLength(
    2,
  )
})

test('a mail to the operator follows light and dark, and fits a phone', () => {
  const { html, text } = renderOperatorMail(OPERATOR_NOTICES)

  expect(html).toContain('<meta name="color-scheme" content="light dark">')
  expect(html).toContain('width=device-width')
  for (const command of text.match(/simherd \w+ \w+/g) ?? []) expect(text).toContain(`npx ${command}`)
})

test('docs/alerts.md shows ten mails as they are', async () => {
  const page = await readFile(new URL('../../../docs/alerts.md', import.meta.url), 'utf8')
  const shown = [
    'alert-sim-suspended',
    'cause-pool',
    'cause-sims',
    'alert-pool-warning',
    'resolved-pool',
    'again-pool',
    'resolved',
    'feed-stale',
    'held-suspensions',
    'grouped',
  ]
  const rows = shown.map((kind) => {
    const { subject, html } = mailOf(kind)
    return `| ${subject} | ${previewOf(html)} |`
  })

  expect(page).toContain(rows.join('\n'))
})
