/** The simulated carrier's lines, and the effect of an operation on them. Pure except for the lines that it keeps. */

export const OPERATIONS = ['provision', 'activate', 'suspend', 'unprovision', 'refresh', 'sendSms', 'move'] as const
type Operation = (typeof OPERATIONS)[number]

export interface OperationRequest {
  /** Identifies the request. A repeated one gets the same response, and has no second effect. */
  readonly ticketId: string
  readonly operation: Operation
  readonly iccid: string
  readonly tariff?: string
  readonly pool?: string
  readonly message?: string
}

/** `already`: the line was in that state before, and nothing was done. */
export type Effect = 'done' | 'already'
type CheckResult = { readonly effect: Effect } | { readonly code: string; readonly detail: string }

interface Line {
  readonly state: 'inactive' | 'active'
  readonly tariff: string | undefined
  readonly pool: string | undefined
}

export interface Lines {
  /** The effect that the operation would have now. Changes nothing. */
  readonly check: (request: OperationRequest) => CheckResult
  /** Makes the change that `check` found to be `done`. */
  readonly apply: (request: OperationRequest) => void
}

/**
 * A line that was never asked about lived before: a SIM may be taken over as it lives at its carrier. It is in the state
 * that the operation wants. A line that was unprovisioned here is gone.
 */
export function makeLines(): Lines {
  const lines = new Map<string, Line | 'gone'>()
  return {
    check: (request) => checkLine(lines.get(request.iccid), request),
    apply: (request) => {
      lines.set(
        request.iccid,
        request.operation === 'unprovision' ? 'gone' : changedLine(lines.get(request.iccid), request),
      )
    },
  }
}

function checkLine(line: Line | 'gone' | undefined, request: OperationRequest): CheckResult {
  const { operation } = request
  const isKnown = line !== undefined && line !== 'gone'
  if (operation === 'provision') return { effect: isKnown ? 'already' : 'done' }
  if (operation === 'unprovision') return { effect: isKnown ? 'done' : 'already' }
  if (line === undefined) return { effect: 'done' }
  if (line === 'gone') {
    return {
      code: 'line_unknown',
      detail: `${operation}: the carrier has no line ${request.iccid}; provision it first`,
    }
  }
  switch (operation) {
    case 'activate':
      return { effect: line.state === 'active' ? 'already' : 'done' }
    case 'suspend':
      return { effect: line.state === 'inactive' ? 'already' : 'done' }
    case 'move':
      return { effect: line.tariff === request.tariff && line.pool === request.pool ? 'already' : 'done' }
    case 'refresh':
    case 'sendSms':
      if (line.state === 'active') return { effect: 'done' }
      return {
        code: 'line_not_active',
        detail: `${operation}: line ${request.iccid} is ${line.state}; activate it first`,
      }
  }
}

/** The line after an operation that does not end it. */
function changedLine(known: Line | 'gone' | undefined, { operation, tariff, pool }: OperationRequest): Line {
  if (operation === 'provision') return { state: 'inactive', tariff, pool }
  const line: Line =
    known === undefined || known === 'gone' ? { state: 'active', tariff: undefined, pool: undefined } : known
  if (operation === 'activate') return { ...line, state: 'active' }
  if (operation === 'suspend') return { ...line, state: 'inactive' }
  return operation === 'move' ? { ...line, tariff, pool } : line
}
