import { describe, expect, test } from 'vitest'
import { readSettings } from '../../../process/settings.ts'

/** What is said of a setting; empty if it is taken. */
function saidOf(settings: Readonly<Record<string, string>>): string {
  try {
    readSettings(settings)
    return ''
  } catch (error) {
    return String(error)
  }
}

const OPEN: readonly (readonly [name: string, value: string, shown: string])[] = [
  ['SERVICE_BASE_URL', 'http://api:8080', 'http://api:8080'],
  ['SERVICE_INTERNAL_URL', 'https://a:8081, http://b:8081', 'https://a:8081, http://b:8081'],
  ['SERVICE_URL', 'http://simherd.example', 'http://simherd.example'],
  ['CARRIER_URL', 'http://10.0.0.7:8443/bridge', 'http://10.0.0.7:8443/bridge'],
  ['REDIS_URL', 'redis://:p:w@ss,word@redis:6379', 'redis://:***@redis:6379'],
  ['REDIS_URL', 'redis:///0?host=redis&password=secret', 'redis:///0?host=redis&password=***'],
  ['REDIS_URL', 'redis://redis?sslmode=require', 'redis://redis?sslmode=require'],
  ['DATABASE_URL', 'postgres://simherd:secret@db/simherd', 'postgres://simherd:***@db/simherd'],
  ['DATABASE_URL', 'postgres://db/simherd?sslmode=prefer', 'postgres://db/simherd?sslmode=prefer'],
  ['DATABASE_URL', 'postgres://localhost/simherd?host=db', 'postgres://localhost/simherd?host=db'],
  ['DATABASE_DIRECT_URL', 'postgresql://[fd00::1]/simherd', 'postgresql://[fd00::1]/simherd'],
  // Names and addresses that only begin like this machine's.
  ['CARRIER_URL', 'http://127.0.0.1.carrier.example', 'http://127.0.0.1.carrier.example'],
  ['CARRIER_URL', 'http://localhost.carrier.example', 'http://localhost.carrier.example'],
  ['REDIS_URL', 'redis://128.0.0.1', 'redis://128.0.0.1'],
]

describe('what would leave this machine in the clear', () => {
  test.each(OPEN)('is refused: %s=%s', (name, value, shown) => {
    const said = saidOf({ [name]: value })

    expect(said).toContain(`${name}=${shown}: must `)
    expect(said).toContain('or set CONNECTION_TLS=optional')
    expect(said).not.toMatch(/:secret@|=secret|ss,word/)
  })

  test.each(OPEN)('is taken with CONNECTION_TLS=optional: %s=%s', (name, value) => {
    expect(saidOf({ [name]: value, CONNECTION_TLS: 'optional' })).toBe('')
  })

  test('is named all at once, with other faults', () => {
    const said = saidOf({ REDIS_URL: 'redis://redis', CARRIER_URL: 'http://it', PORT: 'http', BILLING_CYCLE: 'P1' })

    for (const name of ['REDIS_URL', 'CARRIER_URL', 'PORT', 'BILLING_CYCLE']) expect(said).toContain(`\n  ${name}=`)
  })
})

test.each([
  ['SERVICE_BASE_URL', 'https://a.example, https://b.example'],
  ['SERVICE_INTERNAL_URL', 'http://127.0.0.1:8081,http://localhost:8082,http://[::1]:8083'],
  ['CARRIER_URL', 'https://carrier.example/bridge'],
  ['CARRIER_URL', 'http://127.9.9.9:8443'],
  ['REDIS_URL', 'rediss://:secret@redis:6380'],
  ['REDIS_URL', 'redis://:secret@LOCALHOST:6379/1'],
  ['DATABASE_URL', 'postgres://simherd:secret@db/simherd?sslmode=verify-full'],
  ['DATABASE_URL', 'postgres:///simherd?host=/var/run/postgresql'],
  ['DATABASE_URL', 'postgres://%2Fvar%2Frun%2Fpostgresql/simherd'],
  ['TEMPORAL_UI_URL', 'http://temporal.example'],
])('what stays on this machine or is encrypted is taken: %s=%s', (name, value) => {
  expect(saidOf({ [name]: value })).toBe('')
})

test.each([
  ['CARRIER_URL', 'https://carrier\n.example', 'https://carrier\\x0a.example'],
  ['SERVICE_URL', 'https://simherd.example\n', 'https://simherd.example\\x0a'],
  ['SMTP_URL', 'smtp://:pass\tword@127.0.0.1', 'smtp://:***@127.0.0.1'],
  ['OPERATOR_EMAIL', 'noc\u007f@example.com', 'noc\\x7f@example.com'],
  ['MAIL_FROM', 'Simherd\r\nBcc: x@y.example', 'Simherd\\x0d\\x0aBcc:***@y.example'],
])('control characters are refused: %s', (name, value, shown) => {
  expect(saidOf({ [name]: value })).toContain(`${name}=${shown}: must have no control characters`)
})
