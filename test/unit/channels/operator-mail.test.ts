import { describe, expect, test } from 'vitest'
import { renderOperatorMail } from '../../../adapters/channels/mail/render-operator-mail.ts'
import { aNotice } from './notifications.ts'

const REFUSED = aNotice({
  kind: 'rulesRefused',
  version: 8,
  build: '1.2.0',
  reason: 'sim/a.json#/conditions: got "usageShareToday", expected a fact; 3 more',
  instead: 'version 7 stays in force',
})
const givenUp = (n: number, subject = `Subject ${n}`, response = '554', name = 'Meadow') => {
  const mail = { mailId: `<${n}@simherd>`, recipient: 'a@example.com', subject, response }
  return aNotice({ kind: 'mailGivenUp', ...mail }, 1, { id: 't1', name })
}

describe('renderOperatorMail', () => {
  test('says what is refused, what decides instead, and what to do', () => {
    const { subject, text, html } = renderOperatorMail([REFUSED])

    expect(subject).toBe('[Simherd] Rules version 8 refused by build 1.2.0')
    for (const said of ['got "usageShareToday"', 'Version 7 stays in force.', 'simherd rules load'])
      expect(text).toContain(said)
    expect(html).toContain('Version 7 stays in force.')
  })

  test('names the commands that decide a hold', () => {
    const hold = {
      kind: 'decisionNeeded',
      holdId: 3,
      what: 'suspensions',
      rule: 'pool-overage',
      pool: 'North',
    } as const
    const notice = aNotice({ ...hold, until: '2026-12-01T00:00:00.000Z' }, 1, { id: 't1', name: 'Meadow' })
    const { subject, text } = renderOperatorMail([notice], 'https://console.example.net/')

    expect(text).toContain('Decide in the console: https://console.example.net/t/t1/decisions/3\n')
    expect(renderOperatorMail([notice]).text).not.toContain('console')
    expect(subject).toBe('[Simherd] Decision needed: suspensions of rule pool-overage held')
    expect(text).toContain('In pool North of Meadow (t1): more than the guard lets through in an hour.')
    expect(text).toContain('Where they are right: npx simherd enforcement release 3 --tenant t1\n')
    expect(text).toContain('Where they are not: npx simherd enforcement discard 3 --tenant t1\n')
  })

  test('begins with what has to be mended, and counts all others', () => {
    const { subject, text } = renderOperatorMail([givenUp(1), REFUSED, givenUp(2)])

    expect(subject).toBe('[Simherd] Rules version 8 refused by build 1.2.0, and 2 other notices')
    expect(text.indexOf('Rules version 8')).toBeLessThan(text.indexOf('Mail given up: Subject 1'))
  })

  test('shows five of a kind, and counts the rest', () => {
    const { text } = renderOperatorMail([...Array.from({ length: 1000 }, (_, n) => givenUp(n)), REFUSED])

    expect(text.match(/Mail given up/g)).toHaveLength(5)
    expect(text).toContain('995 more notices of this kind')
    expect(text).toContain('Rules version 8')
  })

  test('keeps text from outside on one line, escaped and short', () => {
    const mean = givenUp(1, 'a\r\nBcc: x <b>', 'x'.repeat(9000), '<i>Meadow</i>')
    const { subject, text, html } = renderOperatorMail([mean])

    expect(subject).toBe('[Simherd] Mail given up: a Bcc: x <b>')
    expect(text.length).toBeLessThan(1000)
    expect(html).toContain('&lt;i&gt;Meadow')
    expect(html).not.toContain('<i>')
  })

  test('has at least one notice', () => {
    expect(() => renderOperatorMail([])).toThrow('at least one notice')
  })
})
