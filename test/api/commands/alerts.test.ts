import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import {
  addAddress,
  clearAddress,
  confirmAddress,
  listAddresses,
  removeAddress,
} from '../../../cli/commands/addresses.ts'
import {
  acknowledge,
  addSilence,
  endSilence,
  listAlerts,
  listSilences,
  showAlert,
} from '../../../cli/commands/alerts.ts'
import { listMails, resendMail, retryMail, showMail } from '../../../cli/commands/mails.ts'
import { tenantNotices } from '../../../cli/commands/notices.ts'
import { markBad } from '../../../service/channels/rows/addresses.ts'
import { insertBody } from '../../../service/channels/rows/bodies.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { evaluationOptions, watch } from '../../service/harness.ts'
import { asShipped, only } from '../../service/watchdog/alert-world.ts'
import { anActiveSim, aPool } from '../harness.ts'
import { used } from '../specification/estate.ts'
import { useCommandHarness } from './harness.ts'

const command = useCommandHarness()
const { harness, lines } = command
const ours = () => ({ tenant: harness.tenant.id })

test('what fires is shown, silenced, and no longer silenced', async () => {
  const { tenant, store } = harness
  await activateRules(store, only({ 'sim-usage-warning': asShipped }), 'the tests')
  const poolId = await aPool(tenant, { warningThresholdPct: 80 })
  const { id: sim, iccid } = await anActiveSim(harness, tenant, { poolId })
  await listAlerts(command.settings, ours())
  await addSilence(command.settings, { ...ours(), sim, for: 'P2D', reason: 'The meter is replaced' })
  await used(harness, tenant, sim, { bytesDown: 900_000_000 })
  await watch(store, evaluationOptions(), tenant.id)
  await listAlerts(command.settings, { ...ours(), rule: 'sim-usage-warning' })
  await listSilences(command.settings, ours())
  const silence = Number(/silence (\d+) has begun/.exec(lines.join('\n'))?.[1])
  await endSilence(command.settings, silence, ours())
  await listSilences(command.settings, ours())

  expect(lines[0]).toBe('nothing is pending or firing')
  const text = lines.join('\n')
  expect(text).toMatch(RegExp(`sim-usage-warning +sim ${iccid} +firing .* 1 +yes +silenced until 2026-11-22 .* none`))
  expect(text).toMatch(RegExp(`${silence} +sim ${sim} +2026-11-22 .* +key:\\S+ +The meter is replaced`))
  expect(lines.slice(-2)).toEqual([`silence ${silence} has ended: what still fires is mailed`, 'nothing is silenced'])

  const [rule, aboutSim] = ['sim-usage-warning', { ...ours(), sim }]
  await acknowledge(command.settings, rule, aboutSim)
  await showAlert(command.settings, rule, aboutSim)
  expect(lines.join('\n')).toMatch(RegExp(`about +sim ${iccid}[^]*acknowledged +2026-11-20 .* by key:`))
  const forTenant = 'the tenant as a whole \\(no SIM, pool or tag is named\\)'
  await expect(acknowledge(command.settings, rule, ours())).rejects.toThrow(RegExp(`does not fire for ${forTenant}`))
  await expect(showAlert(command.settings, rule, ours())).rejects.toThrow(RegExp(`no open alert about ${forTenant}`))
})

test('a silence may hold at times of the week', async () => {
  const given = { ...ours(), rule: 'sim-*', days: [6, 7], reason: 'Nobody is there' }
  await addSilence(command.settings, { ...given, from: '22:00', to: '06:00', zone: 'Europe/Berlin' })
  await listSilences(command.settings, ours())
  const night = lines.at(-1)
  await addSilence(command.settings, given)
  await listSilences(command.settings, ours())

  expect(night).toMatch(/rule sim-\* at 22:00–06:00 on Sat, Sun \(Europe\/Berlin\) +no end +key:\S+ +Nobody is there/)
  expect(lines.join('\n')).toContain('rule sim-* at 00:00–24:00 on Sat, Sun (UTC)')
})

test.each([
  ['no end', { rule: 'sim-*' }, 'got neither, expected --until or --for'],
  ['nothing to silence', { for: 'P1D' }, 'got none of --rule, --sim, --pool and --tag, expected at least one'],
])('a silence of %s is refused by the options', async (_, given, message) => {
  const added = addSilence(command.settings, { ...ours(), ...given, reason: 'Nobody is there' })
  await expect(added).rejects.toThrow(message)
})

describe('mails', () => {
  test('shows what a mail says, and sends it again', async () => {
    const body = { subject: 'Over', text: 'It is over.', html: '<p>It is over.</p>', headers: { 'X-A': 'b' } }
    await inTenant(harness.store, harness.tenant.id, async (tx) => {
      await sql`insert into deliveries (mail_id, recipient, kind, status, next_attempt_at, created_at)
                values ('<2@simherd>', 'billing@meadow.example', 'cause', 'sent', ${tx.now}, ${tx.now})`.execute(tx.q)
      const attachments = [{ filename: 'notices.csv', contentType: 'text/csv', content: 'a' }]
      await insertBody(tx, '<2@simherd>', { ...body, attachments })
      await sql`insert into mail_attempts (mail_id, at, outcome, response, next_attempt_at)
                values ('<2@simherd>', ${tx.now}, 'later', '451 busy', ${tx.now}),
                       ('<2@simherd>', ${tx.now}, 'delivered', '250 OK', null)`.execute(tx.q)
    })
    await showMail(command.settings, '<2@simherd>', ours())
    const shown = lines.splice(0)
    await showMail(command.settings, '<2@simherd>', { ...ours(), html: true })
    const html = lines.splice(0)
    await resendMail(command.settings, '<2@simherd>', ours())
    const id = /again as (<\S+@simherd>)/.exec(lines.join(' '))?.[1] ?? ''
    await showMail(command.settings, id, ours())

    expect(shown).toEqual([
      'Message-ID: <2@simherd>',
      'To: billing@meadow.example',
      'Subject: Over',
      'X-A: b',
      'Attachment: notices.csv (text/csv)',
      expect.stringMatching(/^Status: sent, 2026-11-20/),
      expect.stringMatching(/^Attempt: 2026-11-20 .*, later, next 2026-11-20 .*: 451 busy$/),
      expect.stringMatching(/^Attempt: 2026-11-20 .*, delivered: 250 OK$/),
      '',
      'It is over.',
    ])
    expect(html).toEqual(['<p>It is over.</p>'])
    expect(lines.join('\n')).toMatch(/Status: pending, .*, sends <2@simherd> again/)
    await expect(resendMail(command.settings, id, ours())).rejects.toMatchObject({ exitCode: 4 })
    await expect(showMail(command.settings, '<x@simherd>', ours())).rejects.toMatchObject({ exitCode: 3 })
  })

  test('lists those that were given up, and tries one again', async () => {
    const reply = '550 5.1.1 unknown'
    await inTenant(harness.store, harness.tenant.id, ({ q, now }) =>
      sql`insert into deliveries (mail_id, recipient, kind, status, response, next_attempt_at, created_at)
          values ('<1@simherd>', 'gone@meadow.example', 'cause', 'failed', ${reply}, ${now}, ${now})`.execute(q),
    )
    await listMails(command.settings, { ...ours(), status: 'failed' })
    await retryMail(command.settings, '<1@simherd>', ours())
    await listMails(command.settings, { ...ours(), status: 'failed' })

    expect(lines.join('\n')).toMatch(/<1@simherd> +failed +0 +2026-11-20 .* gone@meadow\.example +550 5\.1\.1 unknown/)
    expect(lines).toContain("mail <1@simherd> is tried again, at the tenant's present billing address")
    expect(lines.at(-1)).toBe('there is no such mail')
    await expect(retryMail(command.settings, '<1@simherd>', ours())).rejects.toMatchObject({ exitCode: 4 })
  })
})

test('addresses are listed, added, confirmed, cleared and removed', async () => {
  await listAddresses(command.settings, ours())
  await harness.tenant.ask('PATCH', '/api/tenant/billing-email', { billingEmail: 'new@example.com' })
  await addAddress(command.settings, 'field@example.com', { ...ours(), level: 'Critical', rules: 'sim-*' })
  await addAddress(command.settings, 'night@example.com', { ...ours(), escalation: true })
  await inTenant(harness.store, harness.tenant.id, (tx) => markBad(tx, 'field@example.com'))
  await listAddresses(command.settings, ours())
  const numberOf = (email: string) => Number(new RegExp(`(\\d+) +\\w+ +${email}`).exec(lines.join('\n'))?.[1])
  const [changed, field, night] = ['new@example.com', 'field@example.com', 'night@example.com'].map(numberOf)
  const before = lines.join('\n')
  lines.length = 0
  await confirmAddress(command.settings, changed ?? 0, ours())
  await clearAddress(command.settings, field ?? 0, ours())
  await removeAddress(command.settings, night ?? 0, ours())
  await listAddresses(command.settings, ours())

  expect(before).toMatch(/billing +billing@example\.com +all +all +in use/)
  expect(before).toMatch(/billing +new@example\.com +all +all +not confirmed/)
  expect(before).toMatch(/copy +field@example\.com +Critical at least +sim-\* +bad since 2026-11-20/)
  expect(lines.join('\n')).toMatch(/new@example\.com +all +all +in use/)
  expect(lines.join('\n')).toMatch(/field@example\.com .* in use/)
  expect(lines.join('\n')).not.toMatch(/billing@example\.com|night@example\.com/)
  await expect(removeAddress(command.settings, changed ?? 0, ours())).rejects.toMatchObject({ exitCode: 4 })
})

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
