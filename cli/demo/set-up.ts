/** Makes the demonstration's estate through the interfaces: tariffs, pools, SIMs. Keeps existing objects unchanged. */

import { idempotent, type PublicClient } from '../../adapters/rest/client.ts'
import { counted } from '../../domain/quantity.ts'
import type { Estate, EstateSim } from '../../examples/estate.ts'
import { responseOf } from '../service.ts'
import { allOf } from './pages.ts'
import type { Play } from './prepare.ts'

/** Ids that the service assigned, by the estate's own keys. */
export interface SetUp {
  readonly tariffs: ReadonlyMap<string, number>
  readonly pools: ReadonlyMap<string, number>
}

export async function setUp({ api, internal, progress }: Play, estate: Estate): Promise<SetUp> {
  const keyed = (what: string) => idempotent(`demo/${progress.tenantId}/${what}`)

  const offered = await responseOf(api.GET('/api/tariffs'))
  const tariffs = new Map<string, number>()
  for (const { key, ...tariff } of estate.tariffs) {
    const there = offered.find(({ displayName }) => displayName === tariff.displayName)
    const params = keyed(`tariff/${key}`)
    const { id } = there ?? (await responseOf(internal.POST('/internal/tariffs', { body: tariff, params })))
    tariffs.set(key, id)
  }

  const existing = await allOf((query) => responseOf(api.GET('/api/pools', { params: { query } })))
  const pools = new Map<string, number>()
  for (const { key, tariff, ...pool } of estate.pools) {
    const there = existing.find(({ name }) => name === pool.name)
    const body = { ...pool, tariffId: idOf(tariffs, tariff) }
    const { id } = there ?? (await responseOf(api.POST('/api/pools', { body, params: keyed(`pool/${key}`) })))
    pools.set(key, id)
  }

  const known = new Set((await allSims(api)).map(({ iccid }) => iccid))
  const sims = estate.sims.filter(({ iccid }) => !known.has(iccid)).map(asDelivered)
  if (sims.length > 0) {
    const params = keyed(`sims/${sims.length}`)
    const { rejected } = await responseOf(internal.POST('/internal/sims', { body: { sims }, params }))
    const [first] = rejected
    if (first !== undefined)
      throw new Error(`${counted(rejected.length, 'SIM')} refused, the first one: ${first.detail}`)
  }
  return { tariffs, pools }
}

/** Reads every SIM of the tenant. */
export const allSims = (api: PublicClient) => allOf((query) => responseOf(api.GET('/api/sims', { params: { query } })))

/** SIMs arrive unprovisioned. Pool, tariff and the behaviour of their devices are not part of the delivery. */
const asDelivered = ({ device: _device, pool: _pool, tariff: _tariff, ...sim }: EstateSim) => sim

export function idOf(ids: ReadonlyMap<string, number>, key: string): number {
  const id = ids.get(key)
  if (id === undefined) throw new Error(`the estate names '${key}', which it does not have`)
  return id
}
