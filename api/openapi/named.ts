/** Schemas that have a name of their own in the document. */
import type { TSchema } from 'typebox'
import { WatchdogLogEntry } from '../../domain/alerts/watchdog-log-entry.ts'
import { PoolEnforcement, SimEnforcement } from '../../domain/enforcement/enforcement.ts'
import { Event } from '../../domain/event.ts'
import { CycleInfo } from '../../domain/month-end/month-end.ts'
import { NewOrder, Order, OrderDetail } from '../../domain/orders/order.ts'
import { CodeLabel, Pagination } from '../../domain/page.ts'
import { NewPool, Pool } from '../../domain/pools/pool.ts'
import { NewSim, Sim, SimSummary } from '../../domain/sims/sim.ts'
import { BaseTariff, FixedPoolTariff, NewTariff, Tariff, TariffSummary } from '../../domain/tariffs/tariff.ts'
import { AuditEntry } from '../../domain/tenants/audit.ts'
import { ApiKey, Tenant } from '../../domain/tenants/tenant.ts'
import { BulkItem, BulkRun, BulkRunDetail } from '../../domain/tickets/bulk.ts'
import { Cause, Ticket, TicketDetail } from '../../domain/tickets/ticket.ts'
import { UsageRecord } from '../../domain/usage/usage-record.ts'
import { Trouble } from '../../domain/workflows/trouble.ts'
import { StartResponse, WorkflowInfo, WorkflowPending } from '../../domain/workflows/workflow.ts'
import { Problem } from '../http/problems.ts'
import { isObject, type Json, type JsonObject, plain } from './json.ts'

const NAMED: Readonly<Record<string, TSchema>> = {
  Pagination,
  CodeLabel,
  BaseTariff,
  FixedPoolTariff,
  Tariff,
  TariffSummary,
  NewTariff,
  Pool,
  NewPool,
  Sim,
  NewSim,
  SimSummary,
  Cause,
  Ticket,
  TicketDetail,
  Tenant,
  ApiKey,
  Event,
  WatchdogLogEntry,
  Order,
  OrderDetail,
  NewOrder,
  BulkRun,
  BulkRunDetail,
  BulkItem,
  AuditEntry,
  CycleInfo,
  WorkflowInfo,
  WorkflowPending,
  StartResponse,
  Trouble,
  SimEnforcement,
  PoolEnforcement,
  UsageRecord,
  Problem,
}

/** Identifies a schema by all of its content except the example, which may have been moved beside it. */
const keyOf = ({ examples: _examples, ...schema }: JsonObject): string => JSON.stringify(schema)
const names = new Map(
  Object.entries(NAMED).flatMap(([name, schema]) => {
    const json = plain(schema)
    return isObject(json) ? [[keyOf(json), name] as const] : []
  }),
)

/** Replaces every schema that has a name by a reference. */
export function withReferences(value: Json, except?: string): Json {
  if (Array.isArray(value)) return value.map((item) => withReferences(item))
  if (!isObject(value)) return value
  const name = names.get(keyOf(value))
  if (name !== undefined && name !== except) return { $ref: `#/components/schemas/${name}` }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withReferences(item)]))
}

/** All named schemas, with references to each other. */
export const namedSchemas = (): JsonObject =>
  Object.fromEntries(Object.entries(NAMED).map(([name, schema]) => [name, withReferences(plain(schema), name)]))
