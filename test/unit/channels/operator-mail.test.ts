import { describe, expect, test } from 'vitest'
import { renderOperatorMail } from '../../../adapters/channels/mail/render-operator-mail.ts'
import type { CountedNotice, OperatorNotice } from '../../../domain/notifications/operator-notice.ts'

const MEADOW = { id: 't1', name: 'Meadow' }
const notice = (body: OperatorNotice, count = 1, tenant: CountedNotice['tenant'] = null): CountedNotice => ({
  body,
  count,
  tenant,
})
const REFUSED = notice({
  kind: 'rulesRefused',
  version: 8,
  build: '1.2.0',
  reason: 'sim/a.json#/conditions: got "usageShareToday", expected a fact; 3 more',
  instead: 'version 7 stays in force',
})
const givenUp = (n: number) =>
  notice(
    {
      kind: 'mailGivenUp',
      mailId: `<${n}@simherd>`,
      recipient: 'a@example.com',
      subject: `Subject ${n}`,
      response: '554',
    },
    1,
    MEADOW,
  )

describe('renderOperatorMail', () => {
  test('says what is refused, what decides instead, and what to do', () => {
    const { subject, text, html } = renderOperatorMail([REFUSED])

    expect(subject).toBe('[Simherd] Rules version 8 refused by build 1.2.0')
    for (const said of ['got "usageShareToday"', 'Version 7 stays in force.', 'simherd rules load'])
      expect(text).toContain(said)
    expect(html).toContain('Version 7 stays in force.')
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
    const { subject, text, html } = renderOperatorMail([
      notice(
        {
          kind: 'mailGivenUp',
          mailId: '<1@simherd>',
          recipient: 'a@b',
          subject: 'a\r\nBcc: x <b>',
          response: 'x'.repeat(9000),
        },
        1,
        { id: 't1', name: '<i>Meadow</i>' },
      ),
    ])

    expect(subject).toBe('[Simherd] Mail given up: a Bcc: x <b>')
    expect(text.length).toBeLessThan(1000)
    expect(html).toContain('&lt;i&gt;Meadow')
    expect(html).not.toContain('<i>')
  })

  test('has at least one notice', () => {
    expect(() => renderOperatorMail([])).toThrow('at least one notice')
  })
})
