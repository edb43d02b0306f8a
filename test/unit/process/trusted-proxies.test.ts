import { expect, test } from 'vitest'
import { readSettings } from '../../../process/settings.ts'

test.each(['proxy.example', '10.0.0.0/33', '10', '0.0.0.0/0', '10.0.0.1,::/0', 'true', '1'])(
  'TRUSTED_PROXIES=%s is refused with what it takes',
  (value) => {
    expect(() => readSettings({ TRUSTED_PROXIES: value })).toThrow(
      `settings are wrong:\n  TRUSTED_PROXIES=${value}: must be addresses or networks in CIDR notation with commas between them, none of /0, such as 10.1.2.3,fd00:1::/64`,
    )
  },
)

test('TRUSTED_PROXIES names nobody by default', () => {
  expect(readSettings({}).TRUSTED_PROXIES).toBe('')
})
