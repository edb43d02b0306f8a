/**
 * Makes the demonstration's estate through the interfaces: tariffs, pools, SIMs. Most SIMs are in use, and are taken over.
 * Keeps existing objects unchanged.
 */

import { idempotent, type PublicClient } from '../../adapters/rest/client.ts'
import { SimStatus } from '../../domain/codes.ts'
import { counted } from '../../domain/quantity.ts'
import type { EstateSim } from '../../examples/estate.ts'
import { responseOf } from '../service.ts'
import { allOf } from './pages.ts'
import type { Play } from './prepare.ts'

/** Ids that the service assigned, by the estate's own keys. */
export interface SetUp {
  readonly tariffs: ReadonlyMap<string, number>
  readonly pools: ReadonlyMap<string, number>
}

/** @param activatedAt of the SIMs that are taken over, in epoch milliseconds */
export async function setUp({ api, internal, progress, script }: Play, activatedAt: number): Promise<SetUp> {
  const { estate, newcomers } = script
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
  const ids = { tariffs, pools }
  const sims = estate.sims
    .filter(({ iccid }) => !known.has(iccid))
    .map((sim) => (newcomers.has(sim.iccid) ? asDelivered(sim) : inUse(sim, ids, activatedAt)))
  if (sims.length > 0) {
    const params = keyed(`sims/${sims.length}`)
    const { rejected } = await responseOf(internal.POST('/internal/sims', { body: { sims }, params }))
    const [first] = rejected
    if (first !== undefined)
      throw new Error(`${counted(rejected.length, 'SIM')} refused, the first one: ${first.detail}`)
  }
  return ids
}

/** Reads every SIM of the tenant. */
export const allSims = (api: PublicClient) => allOf((query) => responseOf(api.GET('/api/sims', { params: { query } })))

/** SIMs arrive unprovisioned. Pool, tariff and the behaviour of their devices are not part of the delivery. */
const asDelivered = ({ device: _device, pool: _pool, tariff: _tariff, ...sim }: EstateSim) => sim

const inUse = (sim: EstateSim, ids: SetUp, activatedAt: number) => ({
  ...asDelivered(sim),
  ...assignmentOf(sim, ids),
  status: SimStatus.Active,
  activatedAt: new Date(activatedAt).toISOString(),
})

/** Where a SIM of the estate belongs: its pool and its own tariff. */
export const assignmentOf = ({ pool, tariff }: Pick<EstateSim, 'pool' | 'tariff'>, ids: SetUp) => ({
  ...(pool === null ? {} : { poolId: idOf(ids.pools, pool) }),
  ...(tariff === null ? {} : { tariffId: idOf(ids.tariffs, tariff) }),
})

export function idOf(ids: ReadonlyMap<string, number>, key: string): number {
  const id = ids.get(key)
  if (id === undefined) throw new Error(`the estate names '${key}', which it does not have`)
  return id
}
