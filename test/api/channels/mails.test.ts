import { describe, expect, test } from 'vitest'
import { writeAlerts } from '../alerts/an-alert.ts'
import { anActiveSim, asking, useHarness } from '../harness.ts'
import { writeMail } from './a-mail.ts'

const harness = useHarness()
const REFUSED = [
  ['later', '451 busy at mx1.internal'],
  ['refused', '554 no'],
] as const
const idsOf = async (query: string) =>
  (await harness.tenant.inside('GET', `/internal/mails?${query}`)).body.data.map(({ id }: { id: string }) => id)

describe('/internal/mails', () => {
  test('finds mails by SIM, pool and alert', async () => {
    const { id } = await anActiveSim(harness, harness.tenant)
    await writeAlerts(harness, harness.tenant, [
      { rule: 'sim-overage', kind: 'sim', id, state: { mailed: ['fired', 'resolved'] } },
    ])
    const [alert] = (await harness.tenant.inside('GET', `/internal/alerts?simId=${id}`)).body.data
    const about = { kind: 'sim', id, label: 'one' } as const
    const fired = await writeMail(harness, harness.tenant, { key: `sim-overage/sim/${id}/2026-11/fired`, about })
    const other = await writeMail(harness, harness.tenant, { key: `sim-silent/sim/${id}/2026-11/fired`, about })
    const ofPool = await writeMail(harness, harness.tenant, { about: { kind: 'pool', id, label: 'Meters' } })

    expect((await idsOf(`simId=${id}`)).toSorted()).toEqual([fired, other].toSorted())
    expect(await idsOf(`poolId=${id}`)).toEqual([ofPool])
    expect(await idsOf(`alert=${alert.id}`)).toEqual([fired])
    expect(await idsOf(`alert=${alert.id}&status=failed`)).toEqual([])
    expect(await idsOf('alert=999999999')).toEqual([])
  })

  test('has every attempt of a mail with its response, which keys of the tenant do not see', async () => {
    const id = await writeMail(harness, harness.tenant, { attempts: REFUSED })
    const path = `/internal/mails/${encodeURIComponent(id)}`
    const scopes = { name: 'contact', scopes: ['billing'] }
    const { key } = (await harness.tenant.inside('POST', '/internal/keys', scopes)).body
    const contact = asking(harness.inside, { authorization: `Bearer ${key}` })
    const [own, listed] = [(await contact('GET', path)).body, (await contact('GET', '/internal/mails')).body]

    expect((await harness.tenant.inside('GET', path)).body).toMatchObject({
      status: 'failed',
      attempts: 2,
      response: '554 no',
      attemptLog: [
        { outcome: 'later', response: '451 busy at mx1.internal', nextAttemptAt: '2026-11-20T12:01:00.000Z' },
        { outcome: 'refused', response: '554 no', nextAttemptAt: null },
      ],
    })
    expect(own.attemptLog).toMatchObject([{ outcome: 'later' }, { outcome: 'refused' }])
    expect(JSON.stringify([own, listed])).not.toMatch(/451 busy|554 no/)
  })
})
