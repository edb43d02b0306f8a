/** SIMs and tickets of the model of the service. */
import { type ErrorCode, ServiceError } from '../../../domain/errors.ts'

export type Kind = 'provision' | 'activate' | 'suspend' | 'unassign'
type Body = Record<string, any>

export interface ModelSim {
  status: 0 | 1 | 2
  tag?: string
  poolId: number | null
  tariffId: number | null
  suspension: { cause: 'user' | 'watchdog'; workflowId: string | null; until: string } | null
  change: { poolId: number | null; tariffId: number | null; unassign: boolean } | null
}
export interface ModelTicket {
  id: string
  kind: Kind
  simId: number
  status: 0 | 1 | 2 | 3 | 4
  failureCode: string | null
  body: Body
  /** The workflow that withdrew it. */
  withdrawnBy?: string
}

export const OPEN = new Set([0, 1])
export const SOME_TIME = '2026-11-20T12:00:00.000Z'

export function fail(code: ErrorCode, detail: string): never {
  throw new ServiceError(code, detail)
}

/** The status of a SIM after a ticket of each kind, given that before. */
export const STATUS_AFTER: Readonly<Record<Kind, (status: ModelSim['status']) => ModelSim['status']>> = {
  provision: (status) => (status === 0 ? 2 : status),
  activate: (status) => (status === 0 ? 0 : 1),
  suspend: (status) => (status === 0 ? 0 : 2),
  unassign: () => 0,
}

/** Why a SIM with this status cannot have a ticket; null if it can. */
export function refusalOf(kind: Kind, status: ModelSim['status'], body: Body): ErrorCode | null {
  const fits = { activate: status === 2, suspend: status === 1, unassign: status !== 0, provision: true }[kind]
  if (!fits) return 'sim_state_conflict'
  return kind === 'provision' && status !== 0 && body['cause']?.by !== 'month-end' ? 'sim_already_assigned' : null
}
