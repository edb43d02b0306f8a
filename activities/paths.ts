/**
 * The operations of the service's two interfaces that activities call, in openapi-typescript's form.
 *
 * Bodies and answers are the types of the schemas the service itself validates with.
 */
import type { ActionAsk, PoolEnforcement, SimEnforcement } from '../domain/enforcement.ts'
import type { ChangeFailed, CloseAsk, CycleInfo, PoolChange } from '../domain/month-end.ts'
import type { Sim } from '../domain/sim.ts'
import type { InternalProvisionAsk, InternalSimAsk, Ticket, TicketDetail } from '../domain/ticket.ts'
import type { ArmAsk } from '../domain/workflow-asks.ts'

interface Method<Path, Query, Body, Answer> {
  parameters: ([Path] extends [never] ? { path?: never } : { path: Path }) & {
    query?: Query
    header?: { 'idempotency-key'?: string }
  }
  requestBody: { content: { 'application/json': Body } }
  responses: { 200: { content: { 'application/json': Answer } } }
}
interface Get<Path, Answer, Query = never> {
  get: Omit<Method<Path, Query, never, Answer>, 'requestBody'>
}
interface Post<Path, Body, Answer> {
  post: Method<Path, never, Body, Answer>
}
type Empty = Record<never, never>
interface ById {
  id: string
}
interface BySim {
  id: number
}
interface ByCycle {
  key: string
}
interface TicketId {
  readonly id: string
}

export interface PublicPaths {
  '/api/sims/{id}': Get<BySim, Sim>
  '/api/tickets/{id}': Get<ById, Ticket> & { delete: Omit<Method<ById, never, never, Ticket>, 'requestBody'> }
  '/api/tickets/activate': Post<never, { simId: number }, TicketId>
  '/api/tickets/provision': Post<never, { simId: number; poolId?: number; tariffId?: number }, TicketId>
}

interface Started {
  readonly workflowId: string
  readonly status: string
}
interface Lifecycle extends Started {
  readonly failure: unknown
}
interface PageAfter {
  afterSimId: number
  limit: number
}

export interface InternalPaths {
  '/internal/tickets/{id}': Get<ById, TicketDetail>
  '/internal/tickets/provision': Post<never, InternalProvisionAsk, TicketId>
  '/internal/tickets/unassign': Post<never, InternalSimAsk, TicketId>
  '/internal/tickets/suspend': Post<never, InternalSimAsk, TicketId>
  '/internal/tickets/activate': Post<never, InternalSimAsk, TicketId>
  '/internal/sims/{id}/enforcement': Get<BySim, SimEnforcement, { cycle: string; rule?: string }>
  '/internal/pools/{id}/enforcement': Get<BySim, PoolEnforcement, { cycle: string; rule: string }>
  '/internal/watchdog/actions': Post<never, ActionAsk, { readonly logged: boolean }>
  '/internal/cycles': Get<never, CycleInfo[]>
  '/internal/cycles/{key}/changes': Get<
    ByCycle,
    { readonly changes: PoolChange[]; readonly nextAfterSimId: number | null },
    PageAfter & { kind: 'unassign' | 'move' }
  >
  '/internal/cycles/{key}/change-failed': Post<ByCycle, ChangeFailed, Empty>
  '/internal/cycles/{key}/suspensions': Get<
    ByCycle,
    {
      readonly suspensions: { readonly simId: number; readonly workflowId: string | null }[]
      readonly nextAfterSimId: number | null
    },
    PageAfter
  >
  '/internal/cycles/{key}/renew': Post<ByCycle, Empty, { readonly signalled: number }>
  '/internal/cycles/{key}/close': Post<ByCycle, CloseAsk, { readonly statement: boolean; readonly closedAt: string }>
  '/internal/cycles/{key}/plan': Get<ByCycle, unknown>
  '/internal/workflows/{workflowId}': Get<{ workflowId: string }, Lifecycle>
  '/internal/workflows/{workflowId}/signals/{name}': Post<{ workflowId: string; name: string }, Empty, Empty>
  '/internal/workflows/enforce-pool/arm': Post<
    never,
    ArmAsk,
    { readonly workflowId: string; readonly started: boolean }
  >
  '/internal/workflows/month-end-reprovision': Post<never, { cycle: string }, Started>
}
