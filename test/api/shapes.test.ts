import { describe, expect, test } from 'vitest'
import { aPool, aSim, aTariff, NOON, useHouse } from './house.ts'

const house = useHouse()

describe('the service document', () => {
  test('tenant: exactly its fields', async () => {
    const { status, body } = await house.tenant.ask('GET', '/api/tenant')

    expect(status).toBe(200)
    expect(body).toEqual({ id: house.tenant.id, name: 'Ours', billingEmail: 'billing@example.com' })
  })

  test('tariffs: exactly their fields, the blocks of other types null', async () => {
    const ids = [await aTariff(house.tenant, 0), await aTariff(house.tenant, 1), await aTariff(house.tenant, 2)]

    const list = await house.tenant.ask('GET', '/api/tariffs')
    const one = await house.tenant.ask('GET', `/api/tariffs/${ids[2]}`)

    const common = { simMonthlyFee: 1.5, smsFee: 0.05, voiceFee: 0.1, overageFeePerGb: 2.25 }
    expect(list.body.map((tariff: { id: number }) => tariff.id)).toEqual(ids)
    expect(list.body[0]).toEqual({
      id: ids[0],
      displayName: 'Tariff of type 0',
      description: '',
      isActive: true,
      type: 0,
      standardTariff: { baseTariffBytes: 1_000_000_000, baseTariffGb: 1, ...common },
      dynamicPoolTariff: null,
      fixedPoolTariff: null,
    })
    expect(list.body[1].dynamicPoolTariff).toEqual({ baseTariffBytes: 500_000_000, baseTariffGb: 0.5, ...common })
    expect(one.body.fixedPoolTariff).toEqual({
      fixedCapacityBytes: 100_000_000_000,
      fixedCapacityGb: 100,
      fixedBucketCost: 80,
      ...common,
    })
    expect(Object.keys(one.body.fixedPoolTariff)).toEqual([
      'fixedCapacityBytes',
      'fixedCapacityGb',
      'simMonthlyFee',
      'fixedBucketCost',
      'smsFee',
      'voiceFee',
      'overageFeePerGb',
    ])
  })

  test('pool: exactly its fields in their order; nullable ones stay null', async () => {
    const tariffId = await aTariff(house.tenant)
    const id = await aPool(house.tenant, { tariffId })

    const { body } = await house.tenant.ask('GET', `/api/pools/${id}`)

    const noon = new Date(NOON).toISOString()
    const expected = {
      id,
      name: `Pool ${id}`,
      type: 0,
      watchdogMode: 1,
      warningThresholdPct: null,
      enableBurnRateAlerts: null,
      status: 1,
      createdAt: noon,
      updatedAt: noon,
      activatedAt: noon,
      activeSimCount: 0,
      totalSimCount: 0,
      limitMB: 0,
      usageMB: 0,
      isOverage: false,
      remainingMB: 0,
      overageMB: 0,
      voiceMins: 0,
      smsCount: 0,
      tariffId,
      tariff: { id: tariffId, displayName: 'Tariff of type 0', type: 0 },
      daysUntilRenewal: 11,
    }
    expect(body).toEqual(expected)
    expect(Object.keys(body)).toEqual(Object.keys(expected))
  })

  test('SIM: exactly its fields in their order, by id and by ICCID; {} for no tariff', async () => {
    const { id, iccid } = await aSim(house.tenant)

    const byId = await house.tenant.ask('GET', `/api/sims/${id}`)
    const byIccid = await house.tenant.ask('GET', `/api/sims/${iccid}`)

    const expected = {
      id,
      tag: '',
      iccid,
      poolId: null,
      tariffId: null,
      imsi: '',
      msisdn: '',
      imei: '',
      status: 0,
      updatedAt: new Date(NOON).toISOString(),
      provisionedAt: null,
      lastSeenAt: null,
      limitMB: 0,
      usageMB: 0,
      remainingMB: 0,
      isOverage: false,
      overageMB: 0,
      voiceMins: 0,
      smsCount: 0,
      type: 0,
      esimQrPayload: null,
      esimQrDataUrl: null,
      pendingPoolId: null,
      pendingTariffId: null,
      pendingUnassign: false,
      watchdogMode: 1,
      isWatchdogExempt: false,
      warningThresholdPct: null,
      enableBurnRateAlerts: false,
      processingTicket: false,
      processingTicketCount: 0,
      tariff: {},
    }
    expect(byId.body).toEqual(expected)
    expect(Object.keys(byId.body)).toEqual(Object.keys(expected))
    expect(byIccid.body).toEqual(byId.body)
  })

  test('ticket: exactly its fields; a SIM counts its open tickets', async () => {
    const { id: simId } = await aSim(house.tenant)
    const poolId = await aPool(house.tenant)

    const made = await house.tenant.ask('POST', '/api/tickets/provision', { simId, poolId, tariffId: null })
    const one = await house.tenant.ask('GET', `/api/tickets/${made.body.id}`)
    const list = await house.tenant.ask('GET', '/api/tickets')
    const sim = await house.tenant.ask('GET', `/api/sims/${simId}`)

    expect(made.status).toBe(200)
    expect(one.body).toEqual({
      id: made.body.id,
      simId,
      type: 2,
      status: 0,
      created: new Date(NOON).toISOString(),
      provisioningInfo: { pendingPoolId: poolId, pendingTariffId: null, pendingUnassign: false, pendingTag: null },
    })
    expect(list.body).toEqual([one.body])
    expect(sim.body).toMatchObject({ processingTicket: true, processingTicketCount: 1 })
  })

  test('a cancelled ticket comes back in its final state', async () => {
    const { id: simId } = await aSim(house.tenant)
    const made = await house.tenant.ask('POST', '/api/tickets/provision', { simId })

    const cancelled = await house.tenant.ask('DELETE', `/api/tickets/${made.body.id}`)
    const again = await house.tenant.ask('DELETE', `/api/tickets/${made.body.id}`)

    expect(cancelled).toMatchObject({ status: 200, body: { id: made.body.id, status: 4 } })
    expect(again).toMatchObject({ status: 409, body: { code: 'ticket_not_pending' } })
  })

  test.each([
    ['/api/watchdog/metadata', ['logLevel', 'mode']],
    ['/api/pools/metadata', ['status', 'type']],
    ['/api/sims/metadata', ['type', 'status']],
    ['/api/tickets/metadata', ['type', 'status']],
    ['/api/tariffs/metadata', ['type']],
  ])('%s lists %j', async (url, keys) => {
    const { body } = await house.tenant.ask('GET', url)

    expect(Object.keys(body)).toEqual(keys)
    for (const list of Object.values<{ code: number }[]>(body)) {
      expect(list.map(({ code }) => code)).toEqual(list.map((_, index) => index))
      expect(Object.keys(list[0] ?? {})).toEqual(['code', 'description'])
    }
  })
})
