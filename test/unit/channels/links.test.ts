import { describe, expect, test } from 'vitest'
import { renderMail } from '../../../adapters/channels/mail/render-mail.ts'
import { openLink } from '../../../domain/channels/link.ts'
import type { AlertNotification } from '../../../domain/notifications/notification.ts'
import { anAlert, aSummary, aWarning, MAIL_LINKS } from './notifications.ts'
import { linksOf, wordsOf } from './reading.ts'

const KEY = Buffer.alloc(32)
const NOW = Date.UTC(2026, 10, 21)

/** The links of a mail, opened. */
const opened = (html: string) =>
  linksOf(html).map((url) => openLink(KEY, url.replace('https://simherd.example.net/n/', ''), NOW)?.link)
const purposes = (...notifications: AlertNotification[]) =>
  opened(renderMail(notifications, MAIL_LINKS).html).map((link) => link?.purpose)

const alertOf = (id: number) => aWarning({ subject: { kind: 'sim', id, label: `meter-${id}` } })

describe('offersOf', () => {
  test('links to what can be done about an alert', () => {
    const { html, text } = renderMail([anAlert()], MAIL_LINKS)
    const about = { tenantId: 'ten_acme', rule: 'pool-overage', subject: { kind: 'pool', id: 7 }, cycle: '2026-11' }

    expect(opened(html)).toEqual([
      { purpose: 'ack', ...about },
      { purpose: 'mute', ...about },
      { purpose: 'unsubscribe', tenantId: 'ten_acme' },
    ])
    expect(text).toMatch(/^Acknowledge: https:\/\/simherd\.example\.net\/n\/[\w.-]+$/m)
    expect(text).not.toContain('npx simherd')
  })

  test('says whom to ask where there is no public address', () => {
    const { html, text, headers } = renderMail([anAlert()])

    for (const part of [text, wordsOf(html)]) expect(part).toContain('ask the operator of the service')
    expect([linksOf(html), text.includes('/n/'), text.includes('npx')]).toEqual([[], false, false])
    expect(headers).not.toHaveProperty('List-Unsubscribe')
  })

  test('names each alert in a mail of several', () => {
    const { text, html } = renderMail([alertOf(1), alertOf(2)], MAIL_LINKS)

    expect(text).toMatch(/For meter-2, sim-usage-warning:\nAcknowledge: .*\nNot again in this billing cycle: /)
    expect(opened(html)).toHaveLength(5)
  })

  test('has one link in a mail of many alerts', () => {
    expect(purposes(...Array.from({ length: 11 }, (_, id) => alertOf(id)))).toEqual(['unsubscribe'])
  })

  test('names nobody for an alert of the tenant', () => {
    const alert = anAlert({ subject: { kind: 'tenant', id: 'ten_acme', label: 'Acme' } })

    expect(opened(renderMail([alert], MAIL_LINKS).html)[0]).toMatchObject({ subject: { kind: 'tenant', id: 0 } })
  })

  const { cycle: _, ...ofNoCycle } = anAlert()
  test.each<[string, AlertNotification]>([
    ['an alert that has resolved', anAlert({ kind: 'resolved' })],
    ['a hold of the guard', anAlert({ key: 'guard/3' })],
    ['an alert of a cycle that has ended', ofNoCycle],
  ])('only unsubscribes from %s', (_what, alert) => {
    expect(purposes(alert)).toEqual(['unsubscribe'])
  })

  test('leads to the month in the console, in copies and summaries too', () => {
    const links = { ...MAIL_LINKS, consoleUrl: 'https://console.example.net/' }
    const url = 'https://console.example.net/t/ten_acme/my'
    const mails = [
      renderMail([anAlert()], links),
      renderMail([anAlert()], links, true),
      renderMail([aSummary()], links),
    ]
    const only = renderMail([anAlert()], { ...links, serviceUrl: '' })

    for (const { html, text } of mails) expect([linksOf(html).includes(url), text.includes(url)]).toEqual([true, true])
    expect([linksOf(only.html), only.text.includes('ask the operator')]).toEqual([[url], false])
    expect(only.headers).not.toHaveProperty('List-Unsubscribe')
  })

  test('offers nothing in a summary of a cycle', () => {
    const { html, text, headers } = renderMail([aSummary()], MAIL_LINKS)

    expect(linksOf(html)).toEqual([])
    expect(text).not.toContain('/n/')
    expect(Object.keys(headers)).not.toContain('List-Unsubscribe')
  })
})

describe('unsubscribeHeaders', () => {
  test('lets mail programs unsubscribe with one click', () => {
    const { headers } = renderMail([anAlert()], MAIL_LINKS)

    expect(headers['List-Unsubscribe']).toMatch(/^<https:\/\/simherd\.example\.net\/n\/[\w.-]+>$/)
    expect(headers['List-Unsubscribe-Post']).toBe('List-Unsubscribe=One-Click')
  })

  test('asks for no click by mail programs in the clear', () => {
    const { headers } = renderMail([anAlert()], { ...MAIL_LINKS, serviceUrl: 'http://10.0.0.7:8080' })

    expect(headers['List-Unsubscribe']).toMatch(/^<http:\/\/10\.0\.0\.7:8080\/n\//)
    expect(headers).not.toHaveProperty('List-Unsubscribe-Post')
  })
})
