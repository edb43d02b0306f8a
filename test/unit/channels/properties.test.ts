/** What holds of every mail, whatever the figures are and whatever things are called. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { renderMail, TENANT_HEADER } from '../../../adapters/channels/mail/render-mail.ts'
import { SUBJECT_CHARS } from '../../../adapters/channels/mail/subject.ts'
import { LogLevel } from '../../../domain/codes.ts'
import { instant } from '../../../domain/local-time.ts'
import type { AlertNotification, Notification } from '../../../domain/notifications/notification.ts'
import { MB } from '../../../domain/units.ts'
import { hostileText } from './hostile.ts'
import { anAlert, aSummary } from './notifications.ts'
import { numbersOf, wordsOf } from './reading.ts'

const KINDS = ['fired', 'resolved', 'escalated', 'graceStarted', 'graceEnding', 'suspended', 'broughtBack'] as const
const TYPES = ['overage', 'usage-warning', 'burn-rate', 'silent', 'imei-change', 'my-own'] as const
/** Bytes, often about as much as a limit. */
const bytes = fc.oneof(
  fc.integer({ min: 0, max: 9_000_000_000_000 }),
  fc.integer({ min: -3000, max: 3000 }).map((by) => 100 * MB + by),
  fc.integer({ min: 0, max: 2000 }).map((by) => by * 100_000),
)

const facts = fc
  .record({ usage: fc.option(bytes), limit: fc.option(bytes) })
  .map(({ usage, limit }): AlertNotification['facts'] => ({
    usageMB: usage === null ? null : usage / MB,
    limitMB: limit === null ? null : limit / MB,
    usagePct: usage === null || limit === null || limit === 0 ? null : (100 * usage) / limit,
    overageMB: usage === null ? null : Math.max(0, usage - (limit ?? 0)) / MB,
  }))

const aNotice = (text: fc.Arbitrary<string>): fc.Arbitrary<AlertNotification> =>
  fc
    .record({
      kind: fc.constantFrom(...KINDS),
      level: fc.constantFrom(...Object.values(LogLevel)),
      type: fc.constantFrom(...TYPES),
      about: fc.constantFrom('sim', 'pool', 'tenant', 'tag'),
      label: text,
      tenantName: text,
      rule: text,
      says: text,
      whatNext: text,
      follows: fc.constantFrom(undefined, 'suspended', 'not suspended', 'suspended at 2026-11-21 15:02 +01:00'),
      times: fc.constantFrom(undefined, 2, 1000),
      facts,
      silentMs: fc.integer({ min: 0, max: 40 * 86_400_000 }),
      timeZone: fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Kathmandu', 'America/St_Johns'),
    })
    .map(({ type, about, label, rule, says, follows, times, silentMs, ...rest }) => {
      const { follows: _, ...alert } = anAlert()
      const { limitMB } = rest.facts
      return {
        ...alert,
        ...rest,
        rule: { name: rule, file: `${rule}.json`, version: 3, type },
        subject: { kind: about, id: 7, label },
        message: `Pool ${label} ${says}`,
        why: [
          {
            fact: 'usageMB',
            label: 'data used',
            value: rest.facts.usageMB,
            operator: 'greaterThan',
            operand: limitMB,
            unit: 'MB',
          },
          { fact: rule, label: rule, value: says, operator: rule, operand: [label], unit: null },
        ],
        ...(follows === undefined ? {} : { follows }),
        ...(times === undefined ? {} : { times }),
        ...(rest.kind === 'resolved' ? { lastedMs: silentMs } : {}),
      }
    })

const tagsOf = (html: string) => html.replace(/"[^"]*"/g, '""').match(/<[^>]*>/g)
function expectPlain({ text, html }: { readonly text: string; readonly html: string }): void {
  for (const part of [text.replaceAll('\n', ''), html.replaceAll('\n', '')]) {
    expect(part).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u)
    expect(part.isWellFormed()).toBe(true)
  }
}

const plainWord = fc.constantFrom('meters', 'North', 'tracker', 'van of the depot')
const aMail = (text: fc.Arbitrary<string>): fc.Arbitrary<readonly Notification[]> =>
  fc.array(aNotice(text), { minLength: 1, maxLength: 5 })

describe('every mail', () => {
  test('says the same numbers in HTML, text and subject', () => {
    fc.assert(
      fc.property(aMail(plainWord), (notices) => {
        const { html, text, subject } = renderMail(notices)

        const inText = numbersOf(text)
        const inHtml = numbersOf(wordsOf(html))
        // The subject counts as the headline does; what does not fit is counted too.
        const inSubject = numbersOf(subject.replace(/, [\d,]+ more$/, ''))
        expect(inHtml.filter((number) => !inText.includes(number))).toEqual([])
        expect(inText.filter((number) => !inHtml.includes(number))).toEqual([])
        expect(inSubject.filter((number) => !inText.includes(number) && !subject.includes('suspended at'))).toEqual([])
      }),
    )
  })

  test('lets no usage read as its limit unless it is', () => {
    fc.assert(
      fc.property(aNotice(plainWord), (notice) => {
        const { text, html, subject } = renderMail([notice])

        const { usageMB, limitMB } = notice.facts
        for (const part of [text, wordsOf(html), subject]) {
          for (const [, used = '', limit] of part.matchAll(/([\d.,]+(?: [kMG]?B)?) of ([\d.,]+ [kMG]?B)/g)) {
            const unit = / [kMG]?B/.exec(limit ?? '')?.[0] ?? ''
            expect(used === limit || `${used}${unit}` === limit).toBe(usageMB === limitMB)
          }
          const isAll = /(^|[ (])100 %/.test(part.replace(/Warning threshold.*/, ''))
          if (usageMB !== limitMB) expect(isAll).toBe(false)
        }
        for (const [, value, operand] of text.matchAll(/data used: (.*), above (.*)/g)) {
          expect(value === operand).toBe(usageMB === limitMB)
        }
      }),
    )
  })

  test('has a subject of one line and at most 70 characters', () => {
    fc.assert(
      fc.property(aMail(hostileText), (notices) => {
        const { subject, headers } = renderMail(notices)
        const tenant = headers[TENANT_HEADER] ?? 'x'

        for (const line of [subject, tenant]) {
          expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u)
          expect(line.isWellFormed()).toBe(true)
          expect(line).toBe(line.trim())
        }
        expect(subject.length).toBeGreaterThan(0)
        expect(subject.length).toBeLessThanOrEqual(SUBJECT_CHARS)
        expect(tenant.length).toBeGreaterThan(0)
        expect(tenant.length).toBeLessThanOrEqual(40)
      }),
    )
  })

  test('keeps figure and consequence, however long a name is', () => {
    fc.assert(
      fc.property(aNotice(hostileText), bytes, fc.integer({ min: 1, max: 1e12 }), (notice, limit, over) => {
        const { subject } = renderMail([
          {
            ...notice,
            kind: 'fired',
            rule: { ...notice.rule, type: 'overage' },
            facts: { usageMB: (limit + over) / MB, limitMB: limit / MB, usagePct: null, overageMB: over / MB },
          },
        ])

        expect(subject).toMatch(/\d [kMG]?B(\)| over)/)
        expect(subject.endsWith(notice.follows === undefined ? '' : `: ${notice.follows}`)).toBe(true)
      }),
    )
  })

  test('keeps its layout, whatever things are called', () => {
    const renamed = (notice: AlertNotification, word: string): AlertNotification => ({
      ...notice,
      tenantName: word,
      poolName: word,
      // The gate lets no other names of rules in.
      rule: { ...notice.rule, name: 'x', file: word },
      subject: { ...notice.subject, label: word },
      message: word,
      whatNext: word,
      why: notice.why.map((reason, n) =>
        n === 0 ? reason : { ...reason, fact: word, label: word, value: word, operand: [word] },
      ),
    })
    fc.assert(
      fc.property(fc.array(aNotice(hostileText), { minLength: 1, maxLength: 3 }), hostileText, (notices, word) => {
        const plain = renderMail(notices.map((notice) => renamed(notice, 'x')))
        const mean = renderMail(notices.map((notice) => renamed(notice, word || 'x')))

        expect(tagsOf(mean.html)).toEqual(tagsOf(plain.html))
        // A line may begin with the name of a pool, but a name makes no line.
        expect(mean.text.split('\n')).toHaveLength(plain.text.split('\n').length)
        expect(mean.text).not.toMatch(/^\.$/m)
        expectPlain(mean)
      }),
    )
  })

  test('of a month end keeps all that, too', () => {
    fc.assert(
      fc.property(hostileText, facts, (word, { usageMB, limitMB, overageMB }) => {
        const [pool] = aSummary().pools
        if (pool === undefined) throw new Error('the summary has no pool')
        const amounts = { usageMB: usageMB ?? 0, limitMB: limitMB ?? 0, overageMB: overageMB ?? 0 }
        const mailOf = (name: string) =>
          renderMail([
            aSummary({
              tenantName: name,
              cycle: { ...aSummary().cycle, key: name },
              pools: [{ ...pool, ...amounts, name }],
              failures: [{ iccid: name, what: name, reason: name }],
              statementCsv: 'line',
            }),
          ])
        const { subject, html, text, attachments = [] } = mailOf(word)

        expect(tagsOf(html)).toEqual(tagsOf(mailOf('x').html))
        expectPlain({ text, html })
        expect(text.split('\n')).toHaveLength(mailOf('x').text.split('\n').length)
        for (const { filename } of attachments) expect(filename).toMatch(/^statement-[\w-]*\.csv$/)

        expect(subject.length).toBeLessThanOrEqual(SUBJECT_CHARS)
        expect(subject).toMatch(/ closed: EUR 1,234\.57, 1 change failed$/)
        const inText = numbersOf(text)
        expect(numbersOf(wordsOf(html)).filter((number) => !inText.includes(number))).toEqual([])
      }),
    )
  })

  test('shows an instant of a zone nobody knows in UTC', () => {
    expect(renderMail([anAlert({ timeZone: 'Nowhere/Land' })]).text).toContain(instant(anAlert().since))
  })
})
