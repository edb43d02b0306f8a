import { expect, test } from 'vitest'
import { renderSignInMail } from '../../../adapters/channels/mail/render-sign-in-mail.ts'
import { codeOf, isCode, openSignIn, sealSignIn } from '../../../domain/tenants/sign-in-mail.ts'
import { SIGN_IN } from './notifications.ts'

const KEY = Buffer.alloc(32, 7)
const NOTICE = { ...SIGN_IN, tenantName: 'Meadow\r\nBcc: <b>all</b>' }

test('a mail that signs in has its link and code in both parts, and a tenant name on one line', () => {
  const { text, html, headers, subject } = renderSignInMail(NOTICE)

  for (const part of [text, html]) {
    for (const said of [NOTICE.url, '0012 3456', '2026-11-20 13:15 +01:00', 'https://console.example/sign-in/code'])
      expect(part).toContain(said)
  }
  expect(text).toContain('for Meadow Bcc: <b>all</b>.\n')
  expect(html).not.toContain('<b>all')
  expect(headers).toMatchObject({ 'Auto-Submitted': 'auto-generated' })
  expect(subject).not.toContain('0012')
})

test('a link is opened by its key alone, and a code is of its mail', () => {
  const token = sealSignIn(KEY, 42)

  expect(openSignIn(KEY, token)).toBe(42)
  for (const other of [token.replace('42', '43'), token.slice(0, -1), `0${token}`, '', '42.'])
    expect(openSignIn(KEY, other), other).toBeUndefined()
  expect(openSignIn(Buffer.alloc(32, 8), token)).toBeUndefined()
  expect(codeOf(KEY, 42)).toMatch(/^\d{8}$/)
  expect(isCode('00-12 3456 ', '00123456')).toBe(true)
  expect(isCode(codeOf(KEY, 43), codeOf(KEY, 42))).toBe(false)
})
