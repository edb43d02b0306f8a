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
