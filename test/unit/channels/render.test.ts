import { describe, expect, test } from 'vitest'
import { renderMail } from '../../../adapters/channels/mail/render-mail.ts'
import { anAlert, aSummary, aWarning, MAIL_LINKS } from './notifications.ts'
import { wordsOf } from './reading.ts'

const aWarningOf = (i: number, rule = 'sim-usage-warning') =>
  aWarning({
    rule: { name: rule, file: `rules/sim/${rule}.json`, version: 3, type: 'usage-warning' },
    subject: { kind: 'sim', id: i, label: `89440000000000${10_000 + i}` },
    message: `SIM 89440000000000${10_000 + i} is at ${80 + (i % 20)} % of its limit.`,
    facts: { usageMB: 40, limitMB: 50, usagePct: 80 + (i % 20), overageMB: 0 },
  })

test('says of an alert that has fired before in the cycle that it fires again', () => {
  const mail = renderMail([aWarning({ times: 2 })])

  expect(mail.subject).toBe('Again: SIM 8944000000000000041 at 84.2 % (42.1 of 50 MB)')
  expect(mail.text).toContain('Warning again: ')
  expect(mail.text).toContain('How often: 2 times in this billing cycle')
  expect(renderMail([aWarning()]).text).not.toContain('How often')
})

describe('a mail of one alert', () => {
  test('states usage, reasons and what happens next', () => {
    const { text } = renderMail([aWarning()])

    expect(text).toContain('Warning: SIM 8944000000000000041 is at 84.2 % of its limit: 42.1 of 50 MB used.')
    expect(text).toContain('SIM: 8944000000000000041 (id 41)')
    expect(text).toContain('Usage: 42.1 of 50 MB (84.2 %)')
    expect(text).toContain('Since: 2026-11-21 08:35 UTC, for 5 min 12 s')
    expect(text).toContain('At this pace: over the limit on 2026-11-24 19:00 UTC')
    expect(text).toContain('What happens next: Nothing: this is for your information.')
    expect(text).toContain('- share of the limit used: 84.2 %, at least 80 %')
    expect(text).toContain('Rule: sim-usage-warning (rules/sim/sim-usage-warning.json, version 3)')
    expect(text).toContain('How to stop this: Raise the warning threshold of the SIM')
  })

  test('names a tagged SIM by its tag, and tells its ICCID', () => {
    const { text, subject } = renderMail([
      aWarning({ subject: { kind: 'sim', id: 41, label: 'meter-012', iccid: '8944000000000000041' } }),
    ])

    expect(subject).toMatch(/^meter-012 /)
    expect(text).toContain('SIM: meter-012 (ICCID 8944000000000000041, id 41)')
  })

  test('states how long it lasted when it is over', () => {
    const { text } = renderMail([aWarning({ kind: 'resolved', lastedMs: 76.5 * 3_600_000, pace: null })])

    expect(text).toContain('Lasted: 3 d 4 h')
    expect(text).toContain('Resolved: 2026-11-21 08:40 UTC')
    expect(text).not.toContain('Since')
  })

  test('shows instants in the tenant’s time zone, with UTC beside', () => {
    const { text, html } = renderMail([aWarning({ timeZone: 'Europe/Berlin' })])

    for (const part of [text, wordsOf(html)]) {
      expect(part).toContain('2026-11-21 09:35 +01:00 (08:35 UTC), for 5 min 12 s')
      expect(part).toContain('over the limit on 2026-11-24 20:00 +01:00 (19:00 UTC)')
    }
  })

  test('leaves out facts that are unknown', () => {
    const unknown = { usageMB: null, limitMB: null, usagePct: null, overageMB: null }

    const { text, html } = renderMail([aWarning({ facts: unknown, pace: null })])

    expect(text).not.toMatch(/Usage:|pace|null|Over the limit/)
    expect(wordsOf(html)).not.toMatch(/Usage |pace|null|Over the limit/)
  })

  test('shows since when and what happens next as preview text', () => {
    const [, preheader] = /<div style="display:none[^>]*>([^<]*)</.exec(renderMail([anAlert()]).html) ?? []

    expect(preheader?.replaceAll('\u00a0', ' ')).toBe(`12 MB over since 2026-11-21 08:35 UTC. ${anAlert().whatNext}`)
  })

  test('writes numbers so that nobody misreads them', () => {
    const facts = { usageMB: 500.000001, limitMB: 500, usagePct: 100.0000002, overageMB: 0.000001 }

    const { text } = renderMail([anAlert({ facts })])
    expect(text).toContain('limit by: 1 B\n')
    expect(text).toContain('500.000001 of 500 MB (100.0000002 %)')
  })
})

describe('a mail of several alerts', () => {
  test('counts them, worst first', () => {
    const { subject, text } = renderMail([aWarningOf(1), aWarning({ kind: 'resolved' }), anAlert(), aWarningOf(2)])

    expect(subject).toBe('1 pool over its limit, 2 SIMs near their limit, 1 resolved')
    expect(text.startsWith(`${subject}\n4 notices: 1 Critical, 2 Warning, 1 Resolved\n`)).toBe(true)
  })

  test('groups them by rule, worst rule first', () => {
    const { text } = renderMail([aWarningOf(1), aWarningOf(5, 'other'), aWarningOf(3), anAlert(), aWarningOf(2)])

    expect(text.match(/^(Critical|Warning): \S+|^- \S+:/gm)).toEqual([
      'Critical: pool-overage',
      '- meters-eu:',
      'Warning: other',
      '- 8944000000000010005:',
      'Warning: sim-usage-warning',
      '- 8944000000000010003:',
      '- 8944000000000010002:',
      '- 8944000000000010001:',
    ])
  })

  test('states a shared next step only once', () => {
    expect(renderMail([aWarningOf(1), aWarningOf(2), aWarningOf(3)]).text.match(/What happens next/g)).toHaveLength(1)
  })

  test('counts the alerts of each next step', () => {
    const { text } = renderMail([aWarningOf(1), aWarningOf(2), aWarning({ whatNext: 'It will be suspended.' })])

    expect(text).toContain('What happens next: Nothing: this is for your information. (2)')
    expect(text).toContain('What happens next: It will be suspended. (1)')
  })

  test('lists at most 200 and counts the rest', () => {
    const many = Array.from({ length: 5000 }, (_, i) => aWarningOf(i))
    const { text, html, subject } = renderMail(many, MAIL_LINKS)

    expect(subject).toBe('5,000 SIMs near their limit')
    expect(text.match(/^- /gm)).toHaveLength(200)
    expect(text).toContain('and 4,800 more')
    expect(wordsOf(html)).toContain('and 4,800 more')
    // A well-known mail program cuts mails off at this size.
    expect(Buffer.byteLength(html)).toBeLessThan(102_000)
  })

  test('keeps one rule from crowding out another', () => {
    const many = Array.from({ length: 500 }, (_, i) => anAlert({ subject: { kind: 'sim', id: i, label: `sim-${i}` } }))

    const { text } = renderMail([...many, aWarningOf(1)])

    expect(text.match(/^- /gm)).toHaveLength(101)
    expect(text).toContain('and 400 more')
    expect(text).toContain('- 8944000000000010001:')
  })

  test('lists at most 20 rules and counts the rest', () => {
    const { text, html } = renderMail(Array.from({ length: 60 }, (_, i) => aWarningOf(i, `rule-${i}`)))

    expect(text.match(/^Warning: /gm)).toHaveLength(20)
    expect(text).toContain('and 40 more notices of 40 other rules')
    expect(Buffer.byteLength(html)).toBeLessThan(102_000)
  })

  test('needs at least one notification', () => {
    expect(() => renderMail([])).toThrow('at least one notification')
  })
})

describe('a mail of a month end', () => {
  test('states figures, failures and charges by pool', () => {
    const { subject, text } = renderMail([aSummary()])

    expect(subject).toBe('Billing cycle November 2026 closed: EUR 1,234.57, 2 changes failed')
    expect(text).toContain('2026-11-01 00:00 UTC to 2026-12-01 00:00 UTC')
    expect(text).toContain('Charges: EUR 1,234.57')
    expect(text).toContain('SIMs: 1,190 Active, 7 Suspended, 3 Unprovisioned')
    expect(text).toContain('Queued changes failed: 2')
    expect(text).toContain('Still suspended: 5')
    expect(text).toContain('- 8944000000000000031: move to meters-us: The carrier refused: the line is barred')
    expect(text).toContain('- meters-eu: 512 of 500 MB, over by 12 MB, charge 212.00')
  })

  test('attaches the statement if there is one', () => {
    const [statement] = renderMail([aSummary({ statementCsv: 'iccid,tag\n' })]).attachments ?? []

    expect(statement).toEqual({
      filename: 'statement-2026-11.csv',
      contentType: 'text/csv; charset=utf-8',
      content: 'iccid,tag\n',
    })
    expect(renderMail([aSummary()])).not.toHaveProperty('attachments')
  })

  test('cuts long lists of pools and failures', () => {
    const [pool] = aSummary().pools
    const [failure] = aSummary().failures
    const { text, html } = renderMail([
      aSummary({ pools: Array(5000).fill(pool), failures: Array(900).fill(failure), statementCsv: '' }),
    ])

    expect(text).toContain('and 4,900 more pools')
    expect(text).toContain('and 850 more failures')
    expect(Buffer.byteLength(html)).toBeLessThan(102_000)
  })
})

test('text from outside is shown as it is', () => {
  const { html } = renderMail([anAlert({ message: '<script>alert(1)</script> {{rule}}' })])

  expect(html).toContain('&lt;script&gt;alert(1)')
  expect(html).toContain('{{rule}}')
})
