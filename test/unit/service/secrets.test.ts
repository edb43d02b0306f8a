import { expect, test } from 'vitest'
import { newSecret, open, seal } from '../../../service/channels/secrets.ts'

const [key, older] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]

test('seals a secret so that its tenant’s is opened by its key only', () => {
  const secret = newSecret()
  const sealed = seal(secret, 't1', [older])

  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(sealed).not.toContain(secret.slice(6))
  expect(seal(secret, 't1', [older])).not.toBe(sealed)
  expect(open(sealed, 't1', [key, older])).toBe(secret)
  expect(() => open(sealed, 't1', [key])).toThrow('which WEBHOOK_SECRETS_KEY does not have')
  expect(() => open(sealed, 't2', [older])).toThrow()
  expect(() => open(`${sealed.slice(0, -4)}AAA=`, 't1', [older])).toThrow()
})

test('keeps a secret as it is without a key, and reads it once there is one', () => {
  const secret = newSecret()

  expect(seal(secret, 't1', [])).toBe(secret)
  expect(open(secret, 't1', [key])).toBe(secret)
})
