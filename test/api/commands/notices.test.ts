import { describe, expect, test } from 'vitest'
import { tenantNotices } from '../../../cli/commands/notices.ts'
import { useCommandHarness } from './harness.ts'

const command = useCommandHarness()
const { harness, lines } = command

describe('tenants notices', () => {
  test('changes what is given, and keeps the rest', async () => {
    const ours = { tenant: harness.tenant.id }
    await tenantNotices(command.settings, { ...ours, timeZone: 'Europe/Berlin', escalateAfter: 'PT30M' })
    await tenantNotices(command.settings, { ...ours, feedEvery: 'PT1H', escalateAfter: false, mailsFrom: 'critical' })
    lines.length = 0

    await tenantNotices(command.settings, ours)

    expect(lines).toEqual([
      'mails show instants of the time zone Europe/Berlin',
      'usage is received every PT1H',
      'Critical alerts are not escalated',
      'alerts are mailed from level Critical on',
    ])
  })

  test('says which value is wrong', async () => {
    const wrong = { tenant: harness.tenant.id, feedEvery: 'P99D' }

    await expect(tenantNotices(command.settings, wrong)).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('feedEvery: got P99D, expected PT1M to P31D'),
    })
  })
})
