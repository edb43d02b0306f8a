/** The estate that Schemathesis works on: a tenant with some of everything, made through the interfaces. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface Addresses {
  readonly apiUrl: string
  readonly internalUrl: string
  readonly operatorKey: string
}

export interface Estate {
  readonly tenantId: string
  /** An admin key: it may do everything that a tenant's key may. */
  readonly key: string
}

interface Ids {
  readonly id: number
}

const FEES = { simMonthlyFee: 1.5, smsFee: 0.04, voiceFee: 0.1, overageFeePerGb: 5 }
/** One of each type. */
const TARIFFS = [
  { displayName: 'Metering 100 MB', type: 0, standardTariff: { baseTariffGb: 0.1, ...FEES } },
  { displayName: 'Fleet 500 MB shared', type: 1, dynamicPoolTariff: { baseTariffGb: 0.5, ...FEES } },
  {
    displayName: 'Bucket 20 GB',
    type: 2,
    fixedPoolTariff: { fixedCapacityGb: 20, fixedBucketCost: 69, ...FEES },
  },
]
/** One for each tariff. */
const POOLS = [
  { name: 'Household meters', type: 0, watchdogMode: 1, warningThresholdPct: 80 },
  { name: 'Service vans', type: 1, watchdogMode: 2, warningThresholdPct: 80 },
  { name: 'Street lighting', type: 0, watchdogMode: 1, enableBurnRateAlerts: true },
]
const ORDER = { shippingLine1: '17 Mill Lane', shippingCity: 'Ashford', shippingCountry: 'United Kingdom' }
const PRICES = [
  { type: 1, price: 1.2 },
  { type: 2, price: 0.4 },
]
const SIMS = 24

/**
 * Makes a tenant and its estate.
 *
 * @throws Error with the request that was refused, and its response
 */
export async function makeEstate({ apiUrl, internalUrl, operatorKey }: Addresses, name: string): Promise<Estate> {
  // Different in every estate, because an ICCID belongs to one tenant only.
  const accounts = `8999900${String(Date.now() % 1_000_000).padStart(6, '0')}`
  const call = async (url: string, key: string, method: string, path: string, body?: unknown, tenantId?: string) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }
  const tenant = { name, billingEmail: 'billing@meadow.example' }
  const { id: tenantId } = await call(internalUrl, operatorKey, 'POST', '/internal/tenants', tenant)
  const inside = (method: string, path: string, body?: unknown) =>
    call(internalUrl, operatorKey, method, path, body, tenantId)
  const { key } = await inside('POST', '/internal/keys', { name: 'conformance', scopes: ['admin'] })
  const outside = (method: string, path: string, body?: unknown) => call(apiUrl, key, method, path, body)

  const pools: Ids[] = []
  for (const [i, tariff] of TARIFFS.entries()) {
    const { id: tariffId }: Ids = await inside('POST', '/internal/tariffs', tariff)
    pools.push(await outside('POST', '/api/pools', { ...POOLS[i], tariffId }))
  }
  const sims = Array.from({ length: SIMS }, (_, i) => ({
    iccid: `${accounts}${String(i).padStart(6, '0')}`,
    tag: `meter ${i}`,
    type: i % 4 === 3 ? 1 : 0,
  }))
  const { created }: { created: Ids[] } = await inside('POST', '/internal/sims', { sims })
  const ids = created.map(({ id }) => id)

  const settled = async () => {
    for (;;) {
      const tickets: { status: number }[] = await outside('GET', '/api/tickets')
      if (tickets.every(({ status }) => status > 1)) return
      await sleep(300)
    }
  }
  // Of every four SIMs, one stays unprovisioned, one is suspended, and two are active. A third of them goes into each
  // pool.
  for (const [i, simId] of ids.entries()) {
    if (i % 4 === 0) continue
    await outside('POST', '/api/tickets/provision', { simId, poolId: pools[i % pools.length]?.id })
  }
  await settled()
  const active = ids.filter((_, i) => i % 4 > 1)
  for (const simId of active) await outside('POST', '/api/tickets/activate', { simId })
  await settled()
  // Now, not before: usage of a time before a SIM was in its pool counts outside of it, and no alert fires.
  const at = new Date().toISOString()
  const records = active.map((simId, i) => ({ recordId: `r${i}`, simId, at, bytesDown: (i + 1) * 20_000_000 }))
  await inside('POST', '/internal/usage', { records })
  await outside('POST', `/api/sims/${active[0]}/queue-unprovision`)
  await outside('POST', `/api/sims/${active[1]}/queue-reprovision`, { poolId: pools[0]?.id })
  await inside('PUT', '/internal/order-prices', { prices: PRICES })
  for (const type of [1, 2, 2]) await outside('POST', '/api/orders', { type, quantity: 2, ...ORDER })
  return { tenantId, key }
}
