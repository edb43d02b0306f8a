/** What a person does by forms: said before, done once, and refused as the interface refuses it. */
import { beforeEach, describe, expect, test } from 'vitest'
import { TicketStatus, TicketType } from '../../../domain/codes.ts'
import { inTenant } from '../../../store/tenancy.ts'
import { complete } from '../../service/harness.ts'
import { HOSTILE_NAMES } from '../../unit/channels/hostile.ts'
import { writeAlerts } from '../alerts/an-alert.ts'
import { anActiveSim, aPool, useHarness } from '../harness.ts'
import { type Browser, escaped, fieldIn, linksIn, OWN, useConsole } from './form-browser.ts'

const harness = useHarness()
const pages = useConsole(harness)
const MORE = ['refresh', 'send-sms', 'exempt', 'watch', 'threshold', 'spare', 'move', 'take-out', 'take-back']
const CROSS = { 'sec-fetch-site': 'cross-site' }

let browser: Browser
let sim: { id: number; iccid: string }
let alert: number
const alertPath = () => `/t/${harness.tenant.id}/alerts/${alert}`
const simPath = () => `/t/${harness.tenant.id}/sims/${sim.id}`
const inside = async (url: string) => (await harness.tenant.inside('GET', url)).body
const silences = () => inside(`/internal/silences?open=true`).then(({ data }) => data)
/** Tickets of the SIM that no carrier has carried out, as there is none here. */
const openTickets = async (): Promise<{ type: number }[]> =>
  (await harness.tenant.ask('GET', '/api/tickets')).body.filter(
    ({ simId, status }: { simId: number; status: TicketStatus }) => simId === sim.id && status === TicketStatus.Pending,
  )

/** Reads the page of an act, and what its form sends. */
async function formOf(path: string, from = browser) {
  const { status, body } = await from.get(path)
  return {
    status,
    body,
    send: (fields = {}, headers = OWN) => from.post(path, { key: fieldIn(body, 'key'), ...fields }, headers),
  }
}

beforeEach(async () => {
  browser = await pages.signedIn(harness.operatorKey)
  sim = await anActiveSim(harness, harness.tenant, { poolId: await aPool(harness.tenant) }, { tag: 'one' })
  await writeAlerts(harness, harness.tenant, [{ rule: 'sim-overage', kind: 'sim', id: sim.id }])
  alert = (await inside(`/internal/alerts?simId=${sim.id}`)).data[0].id
})

const suspendBy = (cause: 'user' | 'watchdog') =>
  inTenant(harness.store, harness.tenant.id, (tx) =>
    complete(tx, {
      simId: sim.id,
      type: TicketType.Suspend,
      ...(cause === 'watchdog' && {
        cause: { by: 'watchdog', rule: 'sim-overage', cycle: '2026-11', until: 'renewal', workflowId: 'w' },
      }),
    }),
  )

describe('an alert', () => {
  test('is acknowledged', async () => {
    const { body, send } = await formOf(`${alertPath()}/acknowledge`)
    const sent = [await send(), await send()]
    const after = await browser.get(String(sent[0]?.headers['location']), OWN)

    expect(body).toContain('It is not escalated, until it ends and fires again.')
    expect(sent.map(({ status, headers }) => [status, headers['location']])).toEqual([
      [303, `${alertPath()}?done=acknowledge`],
      [303, `${alertPath()}?done=acknowledge`],
    ])
    expect(after.body).toContain('It is acknowledged')
    expect(linksIn(after.body)).not.toContain(`${alertPath()}/acknowledge`)
    expect(await inside(`/internal/alerts/${alert}`)).toMatchObject({ acknowledgedByName: 'tests' })
    expect((await browser.get(`${alertPath()}/acknowledge`)).body).toContain(
      '<strong>Acknowledged already</strong> by <bdi>tests</bdi>',
    )
  })

  test('is silenced once', async () => {
    const { body, send } = await formOf(`${alertPath()}/silence`)
    const fields = { lasts: 'PT1H', reason: 'The meter is replaced' }
    const before = (await silences()).length
    const sent = [await send(fields), await send(fields)]
    const made = await silences()

    expect(body).toContain('Its log and its suspensions go on.')
    expect(sent.map(({ status }) => status)).toEqual([303, 303])
    expect(made).toHaveLength(before + 1)
    expect(made[0]).toMatchObject({ rule: 'sim-overage', simId: sim.id, reason: fields.reason, createdByName: 'tests' })
    expect(Date.parse(made[0].endsAt)).toBe(harness.now + 3_600_000)
    expect((await browser.get(alertPath())).body).toContain('<bdi>The meter is replaced</bdi>')
  })

  test('is not silenced by a form without a reason, which keeps its rest', async () => {
    const { body, send } = await formOf(`${alertPath()}/silence`)
    const refused = await send({ lasts: 'P7D', reason: '' })
    const other = await send({ lasts: 'P900D', reason: 'Too "long"' })

    expect([refused.status, other.status]).toEqual([400, 400])
    expect(refused.body).toContain('role="alert"')
    expect(refused.body).toContain('400: The request is invalid.')
    expect(refused.body).toContain('<option value="P7D" selected>')
    expect(fieldIn(refused.body, 'key')).toBe(fieldIn(body, 'key'))
    expect(other.body).toContain('expected an end within 90 days from now')
    expect(other.body).toContain('Too &quot;long&quot;</textarea>')
  })

  test('is not silenced twice unasked by a form sent with other words', async () => {
    const { send, body } = await formOf(`${alertPath()}/silence`)
    await send({ lasts: 'PT1H', reason: 'One' })
    const before = (await silences()).length
    const other = await send({ lasts: 'PT1H', reason: 'Two' })

    expect(other.status).toBe(422)
    expect(other.body).toContain('It was done already, with other words.')
    expect(fieldIn(other.body, 'key')).not.toBe(fieldIn(body, 'key'))
    expect(await silences()).toHaveLength(before)
  })

  test('that has ended in the meantime is refused by the interface', async () => {
    const { send } = await formOf(`${alertPath()}/acknowledge`)
    await writeAlerts(harness, harness.tenant, [
      { rule: 'sim-overage', kind: 'sim', id: sim.id, state: { phase: 'resolved', told: ['fired'] } },
    ])
    const refused = await send()

    expect(refused.status).toBe(404)
    expect(refused.body).toContain('Rule sim-overage does not fire for sim')
  })

  test('shows reasons of others as text', async () => {
    for (const name of HOSTILE_NAMES) {
      const { send } = await formOf(`${alertPath()}/silence`)
      const { status, body } = await send({ lasts: 'P900D', reason: name })
      const typed = name.toWellFormed().replaceAll('\r\n', '\n')

      expect(status).toBe(400)
      if (body.includes('<textarea'))
        expect(body.replaceAll('\r\n', '\n')).toContain(`required>${escaped(typed)}</textarea>`)
    }
  })
})

describe('a SIM', () => {
  test('is suspended once', async () => {
    const { body, send } = await formOf(`${simPath()}/suspend`)
    const sent = [await send(), await send()]
    const after = await browser.get(String(sent[0]?.headers['location']), OWN)

    expect(body).toContain('A person brings it back.')
    expect(sent.map(({ status, headers }) => [status, headers['location']])).toEqual([
      [303, `${simPath()}?done=suspend`],
      [303, `${simPath()}?done=suspend`],
    ])
    expect(after.body).toContain('The carrier is asked to suspend it.')
    expect(await openTickets()).toMatchObject([{ type: TicketType.Suspend }])
  })

  test('is brought back once', async () => {
    await suspendBy('watchdog')
    const { body, send } = await formOf(`${simPath()}/activate`)
    const sent = [await send(), await send()]

    expect(body).toContain('By rule <bdi>sim-overage</bdi>')
    expect(body).toContain('No rule suspends it again in this billing cycle.')
    expect(sent.map(({ status }) => status)).toEqual([303, 303])
    expect(await openTickets()).toMatchObject([{ type: TicketType.Activate }])
  })

  test('leads an operator to its alerts, and a key of the tenant to none', async () => {
    const { body } = await (await pages.signedIn(harness.tenant.key)).get(simPath())

    expect(linksIn((await browser.get(simPath())).body)).toContain(alertPath())
    expect(body).not.toContain('id="alerts"')
  })

  test('offers what applies to its state', async () => {
    const list = `/t/${harness.tenant.id}/sims?search=${sim.iccid}`
    const offered = async () =>
      [...linksIn((await browser.get(simPath())).body), ...linksIn((await browser.get(list)).body)].filter((href) =>
        /\/(suspend|activate)$/.test(href ?? ''),
      )

    expect(await offered()).toEqual([`${simPath()}/suspend`, `${simPath()}/suspend`])
    await suspendBy('user')
    expect((await browser.get(`${simPath()}?done=suspend`, OWN)).body).not.toContain('The carrier is asked')
    expect(await offered()).toEqual([`${simPath()}/activate`, `${simPath()}/activate`])
  })

  test('whose state has moved is refused by the interface', async () => {
    const { send } = await formOf(`${simPath()}/suspend`)
    await suspendBy('user')
    const refused = await send()

    expect(refused.status).toBe(409)
    expect(refused.body).toContain('the SIM is suspended already')
    expect(refused.body).toContain('It is Suspended already.')
  })

  test('is not suspended by a key that only reads', async () => {
    const { key } = (await harness.tenant.inside('POST', '/internal/keys', { name: 'r', scopes: ['read'] })).body
    const { status, send } = await formOf(`${simPath()}/suspend`, await pages.signedIn(key))
    const refused = await send()

    expect([status, refused.status]).toEqual([200, 403])
    expect(refused.body).toContain('403: The API key lacks permission.')
    expect(await openTickets()).toEqual([])
  })
})

describe('more about a SIM:', () => {
  /** Sends a form, and sends it again. */
  async function twice(name: string, fields = {}) {
    const { body, send } = await formOf(`${simPath()}/${name}`)
    const sent = [await send(fields), await send(fields)]

    expect(sent.map(({ status, headers }) => [status, headers['location']])).toEqual(
      sent.map(() => [303, `${simPath()}?done=${name}`]),
    )
    return { body, after: (await browser.get(`${simPath()}?done=${name}`, OWN)).body }
  }
  const theSim = async () => (await harness.tenant.ask('GET', `/api/sims/${sim.id}`)).body
  const offered = async (by = browser) =>
    linksIn((await by.get(simPath())).body).flatMap((href) => {
      const name = href?.startsWith(`${simPath()}/`) ? href.slice(simPath().length + 1) : ''
      return MORE.includes(name) ? [name] : []
    })
  const eventsNow = async () => (await harness.tenant.ask('GET', '/api/events')).body.pagination.totalItems

  test('its connection is refreshed once, and an SMS sent once', async () => {
    await twice('refresh')
    const { after } = await twice('send-sms', { message: 'reboot & "report"' })

    expect(after).toContain('The carrier is asked to send the SMS.')
    expect((await openTickets()).map(({ type }) => type)).toEqual([TicketType['Send SMS'], TicketType.Refresh])
  })

  test('an empty SMS is refused by its field', async () => {
    const { send } = await formOf(`${simPath()}/send-sms`)
    const { status, body } = await send({ message: '' })

    expect([status, await openTickets()]).toEqual([400, []])
    expect(body).toContain('message')
  })

  test('it is exempt, and watched again; what is the case already is noted once', async () => {
    const before = await eventsNow()
    const { after } = await twice('exempt')
    expect([(await theSim()).isWatchdogExempt, await eventsNow()]).toEqual([true, before + 1])
    expect(after).toContain('<dd>exempt</dd>')
    expect(await offered()).toContain('watch')

    await twice('watch')
    expect([(await theSim()).isWatchdogExempt, await eventsNow()]).toEqual([false, before + 2])
    expect(await offered()).toContain('exempt')
  })

  test('its warning threshold is its own, or that of its pool', async () => {
    await twice('threshold', { percent: '65' })
    expect((await theSim()).warningThresholdPct).toBe(65)
    const { body } = await twice('threshold', { percent: ' ' })

    expect(body).toContain('<dd>65 %</dd>')
    expect((await theSim()).warningThresholdPct).toBeNull()
    for (const percent of ['0', '101', '1e1', 'many']) {
      const { send } = await formOf(`${simPath()}/threshold`)
      const refused = await send({ percent })
      expect(refused.status).toBe(400)
      expect(refused.body).toContain(`percent: got ${percent}, expected a whole number from 1 to 100.`)
      expect(refused.body).toContain(`value="${percent}"`)
    }
  })

  test('it is not suspended in this cycle, which its page says', async () => {
    const { after } = await twice('spare')

    expect(after).toContain('suspends it no more in this cycle')
    expect(await offered()).not.toContain('spare')
  })

  test('a change is queued for the end of the cycle, and taken back', async () => {
    const poolId = await aPool(harness.tenant, { name: 'Elsewhere <b>' })
    const { body, after } = await twice('move', { poolId: String(poolId) })
    expect(body).toContain(`<option value="${poolId}">Elsewhere &lt;b&gt;</option>`)
    expect((await theSim()).pendingPoolId).toBe(poolId)
    expect(after).toContain(`moves to pool ${poolId}`)

    await twice('take-back')
    expect((await theSim()).pendingPoolId).toBeNull()

    await twice('take-out')
    expect((await theSim()).pendingUnassign).toBe(true)
    expect(await offered()).not.toContain('take-out')
    await twice('take-back')
    expect(await offered()).not.toContain('take-back')
  })

  test('a move without a pool is refused', async () => {
    const { send } = await formOf(`${simPath()}/move`)
    const { status, body } = await send({ poolId: '' })

    expect([status, (await theSim()).pendingPoolId]).toEqual([400, null])
    expect(body).toContain('poolId: got nothing, expected a whole number')
  })

  test('is offered by state and by key', async () => {
    const own = await pages.signedIn(harness.tenant.key)
    expect(await offered()).toEqual(['refresh', 'send-sms', 'spare', 'exempt', 'threshold', 'move', 'take-out'])
    expect(await offered(own)).toEqual(['refresh', 'send-sms', 'move', 'take-out'])
    await suspendBy('user')
    expect(await offered()).toEqual(['exempt', 'threshold', 'move', 'take-out'])
  })
})

test('a link of another site cannot claim that something was done', async () => {
  for (const headers of [CROSS, {}])
    expect((await browser.get(`${simPath()}?done=suspend`, headers)).body).not.toContain('The carrier is asked')
  expect((await browser.get(`${simPath()}?done=constructor`, OWN)).status).toBe(200)
})
