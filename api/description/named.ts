/** Schemas with a name of their own in the document. */
import type { TSchema } from 'typebox'
import { Event } from '../../domain/event.ts'
import { CodeLabel, Pagination } from '../../domain/page.ts'
import { NewPool, Pool } from '../../domain/pool.ts'
import { NewSim, Sim, SimSummary } from '../../domain/sim.ts'
import { BaseTariff, FixedPoolTariff, NewTariff, Tariff, TariffSummary } from '../../domain/tariff.ts'
import { ApiKey, Tenant } from '../../domain/tenant.ts'
import { Cause, Ticket, TicketDetail } from '../../domain/ticket.ts'
import { UsageRecord } from '../../domain/usage.ts'
import { WatchdogLogEntry } from '../../domain/watchdog-log.ts'
import { Problem } from '../problems.ts'
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
  UsageRecord,
  Problem,
}

const names = new Map(Object.entries(NAMED).map(([name, schema]) => [JSON.stringify(schema), name]))

/** Puts a reference in the place of every schema that has a name. */
export function withReferences(value: Json, except?: string): Json {
  if (Array.isArray(value)) return value.map((item) => withReferences(item))
  if (!isObject(value)) return value
  const name = names.get(JSON.stringify(value))
  if (name !== undefined && name !== except) return { $ref: `#/components/schemas/${name}` }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withReferences(item)]))
}

/** All of them, referring to each other. */
export const namedSchemas = (): JsonObject =>
  Object.fromEntries(Object.entries(NAMED).map(([name, schema]) => [name, withReferences(plain(schema), name)]))
