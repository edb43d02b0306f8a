import { describe, expect, test } from 'vitest'
import { hasTokenForm, type Link, openLink, sealLink } from '../../../domain/channels/link.ts'

const KEY = Buffer.alloc(32, 7)
const NOW = Date.UTC(2026, 10, 21)
const EXPIRES = NOW + 86_400_000

const MUTE: Link = {
  purpose: 'mute',
  tenantId: 'tf622080bc0a0',
  rule: 'pool-overage',
  subject: { kind: 'pool', id: 7 },
  cycle: '2026-11',
}
const LINKS: readonly Link[] = [
  MUTE,
  { ...MUTE, purpose: 'ack' },
  { ...MUTE, subject: { kind: 'sim', id: Number.MAX_SAFE_INTEGER } },
  { ...MUTE, subject: { kind: 'tenant', id: 0 }, cycle: '' },
  { purpose: 'unsubscribe', tenantId: 'tf622080bc0a0' },
]

describe('openLink', () => {
  test.each(LINKS)('opens what was sealed: $purpose $subject.kind', (link) => {
    expect(openLink(KEY, sealLink(KEY, link, EXPIRES), NOW)).toEqual({ link, isExpired: false })
  })

  test.each(LINKS)('refuses another character at any place: $purpose $subject.kind', (link) => {
    const token = sealLink(KEY, link, EXPIRES)
    const opened = Array.from(token).flatMap((character, at) =>
      Array.from('Ab0-_.=/').filter((other) => {
        const changed = `${token.slice(0, at)}${other}${token.slice(at + 1)}`
        return other !== character && openLink(KEY, changed, NOW) !== undefined
      }),
    )

    expect(opened).toEqual([])
  })

  test('refuses a token that is cut off, longer, or of another key', () => {
    const token = sealLink(KEY, MUTE, EXPIRES)
    const other = sealLink(Buffer.alloc(32, 8), MUTE, EXPIRES)
    const [text = '', signature = ''] = token.split('.')
    const wrong = [token.slice(0, -1), `${token}A`, text, `.${signature}`, `${text}.`, '', other]

    expect(wrong.map((each) => openLink(KEY, each, NOW))).toEqual(wrong.map(() => undefined))
  })

  test('takes no part of one token for another', () => {
    const [text] = sealLink(KEY, MUTE, EXPIRES).split('.')
    const [, signature] = sealLink(KEY, { ...MUTE, tenantId: 'tffffffffffff' }, EXPIRES).split('.')

    expect(openLink(KEY, `${text}.${signature}`, NOW)).toBeUndefined()
  })

  test('says from its last second on that a link has expired', () => {
    const token = sealLink(KEY, MUTE, EXPIRES)

    expect(openLink(KEY, token, EXPIRES - 1)).toMatchObject({ isExpired: false })
    expect(openLink(KEY, token, EXPIRES)).toEqual({ link: MUTE, isExpired: true })
  })
})

describe('sealLink', () => {
  test('makes less than 300 characters that need no escaping in a URL', () => {
    const longest: Link = {
      ...MUTE,
      rule: 'x'.repeat(60),
      subject: { kind: 'sim', id: Number.MAX_SAFE_INTEGER },
      cycle: '2026-11-20T10:00:00Z',
    }
    const token = sealLink(KEY, longest, EXPIRES)

    expect(token).toMatch(/^[\w.-]{1,299}$/)
    expect(hasTokenForm(token)).toBe(true)
  })
})
