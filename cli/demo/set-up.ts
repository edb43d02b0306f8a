/** The demonstration's estate, made through the interfaces: tariffs, pools, SIMs. What is there is left as it is. */
import { type Static, Type } from 'typebox'
import type { Estate, EstateSim } from '../../examples/estate.ts'
import { allOf } from './pages.ts'
import type { Play } from './prepare.ts'

const Made = Type.Object({ id: Type.Integer() })
const Imported = Type.Object({
  created: Type.Array(Type.Object({ iccid: Type.String(), id: Type.Integer() })),
  rejected: Type.Array(Type.Object({ detail: Type.String() })),
})
export const SimLine = Type.Object({ id: Type.Integer(), iccid: Type.String(), status: Type.Integer() })
export type SimLine = Static<typeof SimLine>

/** Ids the service gave, by the estate's own keys. */
export interface SetUp {
  readonly tariffs: ReadonlyMap<string, number>
  readonly pools: ReadonlyMap<string, number>
}

export async function setUp({ api, internal, diary }: Play, estate: Estate): Promise<SetUp> {
  const once = (what: string) => ({ once: `demo/${diary.tenantId}/${what}` })

  const offered = await api.get(
    '/api/tariffs',
    Type.Array(Type.Object({ id: Type.Integer(), displayName: Type.String() })),
  )
  const tariffs = new Map<string, number>()
  for (const { key, ...tariff } of estate.tariffs) {
    const there = offered.find(({ displayName }) => displayName === tariff.displayName)
    const { id } = there ?? (await internal.post('/internal/tariffs', tariff, Made, once(`tariff/${key}`)))
    tariffs.set(key, id)
  }

  const existing = await allOf(api, '/api/pools', Type.Object({ id: Type.Integer(), name: Type.String() }))
  const pools = new Map<string, number>()
  for (const { key, tariff, ...pool } of estate.pools) {
    const there = existing.find(({ name }) => name === pool.name)
    const body = { ...pool, tariffId: idOf(tariffs, tariff) }
    const { id } = there ?? (await api.post('/api/pools', body, Made, once(`pool/${key}`)))
    pools.set(key, id)
  }

  const known = new Set((await allOf(api, '/api/sims', SimLine)).map(({ iccid }) => iccid))
  const sims = estate.sims.filter(({ iccid }) => !known.has(iccid)).map(asDelivered)
  if (sims.length > 0) {
    const { rejected } = await internal.post('/internal/sims', { sims }, Imported, once(`sims/${sims.length}`))
    const [first] = rejected
    if (first !== undefined) throw new Error(`${rejected.length} SIM(s) were refused, the first one: ${first.detail}`)
  }
  return { tariffs, pools }
}

/** SIMs arrive unprovisioned; pool, tariff and what their devices will do are no part of it. */
const asDelivered = ({ device: _device, pool: _pool, tariff: _tariff, ...sim }: EstateSim) => sim

export function idOf(ids: ReadonlyMap<string, number>, key: string): number {
  const id = ids.get(key)
  if (id === undefined) throw new Error(`the estate names '${key}', which it does not have`)
  return id
}
