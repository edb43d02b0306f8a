/** The SIMs of a batch, the pool and tariff for each, and the rows that are not possible. */
import { Compile } from 'typebox/compile'
import { ServiceError } from '../../domain/errors.ts'
import { Unreadable } from '../../domain/files/unreadable.ts'
import { controlFault } from '../../domain/text.ts'
import { type BatchRequest, BatchRow } from '../../domain/workflows/provision-batch.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { poolTariffs } from '../pools/rows/pools.ts'
import { assignmentConflict, placeConflict } from '../sims/assignment.ts'
import { readSimStates } from '../sims/rows/sim-state.ts'
import { findTariffs } from '../tariffs/rows/tariffs.ts'
import { activationConflict } from './activation-conflict.ts'
import { targetsOf } from './bulk-targets.ts'
import type { Conflict } from './open-ticket.ts'
import type { NewBatchSim } from './rows/provision-batches.ts'

const checkRow = Compile(BatchRow)

/**
 * The SIMs of a batch, page by page and in the order of the request. An impossible row comes with its refusal. The
 * codes are those of a provision-and-activate for that SIM alone.
 */
export async function* batchTargets(tx: TenantTx, { sims, defaults }: BatchRequest): AsyncGenerator<NewBatchSim[]> {
  for await (const named of targetsOf(tx, { rows: sims.map(nameIn) })) {
    const asked = named.map(({ index, ...sim }) => ({ index, ...sim, ...placeOf(sims[index], defaults) }))
    const ask = await conflictsIn(tx, asked)
    yield asked.map(({ fault, ...sim }) => ({ ...sim, refusal: sim.refusal ?? fault ?? ask(sim) ?? null }))
  }
}

/**
 * Checks that the default pool and tariff exist, and that the tariff is active. Whether the tariff needs a pool, or has
 * an effect in it, is checked row by row.
 *
 * @throws ServiceError `pool_not_found`, `tariff_not_found`, `tariff_inactive`
 */
export async function checkDefaults(tx: TenantTx, defaults: BatchRequest['defaults']): Promise<void> {
  const { poolId = null, tariffId = null } = defaults ?? {}
  const place = { simId: null, poolId, tariffId }
  const found = await foundFor(tx, [place])
  const conflict = placeConflict(place, tariffId, found(place))
  if (conflict !== undefined && conflict.code !== 'tariff_needs_pool') {
    throw new ServiceError(conflict.code, conflict.detail)
  }
}

/** The name of a row's SIM. A row without one comes back unchanged. */
function nameIn(row: unknown): unknown {
  if (typeof row !== 'object' || row === null || Array.isArray(row) || row instanceof Unreadable) return row
  const parts = (['simId', 'iccid'] as const).flatMap((name) => {
    const value: unknown = Reflect.get(row, name)
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(parts)
}

/** The pool, tariff and tag for a row's SIM, or the fault of the row. */
function placeOf(row: unknown, defaults: BatchRequest['defaults']) {
  const nowhere = { poolId: null, tariffId: null, tag: null }
  if (!checkRow.Check(row)) {
    const faults = checkRow.Errors(row).map(({ instancePath, message }) => {
      const control = instancePath === '/tag' ? controlFault(String(Object(row).tag)) : undefined
      return `${instancePath || 'row'}: ${control ?? message}`
    })
    return { ...nowhere, fault: { code: 'invalid_request', detail: faults.join('; ') } as const }
  }
  const { poolId, tariffId, tag } = row
  return {
    poolId: poolId ?? defaults?.poolId ?? null,
    tariffId: tariffId ?? defaults?.tariffId ?? null,
    tag: tag ?? null,
    fault: null,
  }
}

type Requested = Pick<NewBatchSim, 'simId' | 'poolId' | 'tariffId'>

const some = (ids: readonly (number | null)[]) => [...new Set(ids.filter((id) => id !== null))]

/** Reads the pools and tariffs that the rows of a page name, all at once. */
async function foundFor(tx: TenantTx, page: readonly Requested[]) {
  const pools = await poolTariffs(tx, some(page.map(({ poolId }) => poolId)))
  const tariffs = await findTariffs(tx, some(page.map(({ tariffId }) => tariffId)))
  return ({ poolId, tariffId }: Requested) => ({
    pool: poolId === null ? null : pools.get(poolId),
    tariff: tariffId === null ? undefined : tariffs.get(tariffId),
  })
}

/** Reads the rows named by a page. @returns a function that gives the reason why a row is not possible */
async function conflictsIn(
  tx: TenantTx,
  page: readonly Requested[],
): Promise<(asked: Requested) => Conflict | undefined> {
  const sims = await readSimStates(tx, some(page.map(({ simId }) => simId)))
  const byId = new Map(sims.map((sim) => [sim.simId, sim]))
  const found = await foundFor(tx, page)
  return (asked) => {
    const sim = asked.simId === null ? undefined : byId.get(asked.simId)
    if (sim === undefined) return undefined
    return activationConflict(sim, asked) ?? assignmentConflict(asked, asked.tariffId, found(asked))
  }
}
