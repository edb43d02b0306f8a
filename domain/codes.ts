/**
 * Tables of the interface's integer codes, one for each closed set.
 *
 * Schemas and metadata endpoints are derived from these tables, and the database's check constraints are compared with
 * them. Codes that the service document fixes never change. New codes are appended, so clients must tolerate unknown
 * codes.
 */
import { Type } from 'typebox'

export type CodeTable = Readonly<Record<string, number>>
export type CodeOf<T extends CodeTable> = T[keyof T]

/** Service document, section 2.2. */
export const LogLevel = { Info: 0, Warning: 1, Critical: 2 } as const
export type LogLevel = CodeOf<typeof LogLevel>

/**
 * Service document, section 2.2. A SIM inherits its pool's mode. Its own mode, if set, replaces it for rules of SIMs,
 * and can only weaken it for rules of pools.
 */
export const WatchdogMode = { Disabled: 0, Monitor: 1, Enforce: 2 } as const
export type WatchdogMode = CodeOf<typeof WatchdogMode>

/** Service document, section 2.3. */
export const PoolStatus = { Inactive: 0, Active: 1 } as const
export type PoolStatus = CodeOf<typeof PoolStatus>

/** Service document, section 2.3. */
export const PoolType = { Standard: 0, Dynamic: 1 } as const
export type PoolType = CodeOf<typeof PoolType>

/** Service document, section 2.4. */
export const SimType = { 'Physical SIM': 0, eSIM: 1 } as const
export type SimType = CodeOf<typeof SimType>

/** Service document, section 2.4. Suspended is our own: the specification has no code for it. */
export const SimStatus = { Unprovisioned: 0, Active: 1, Suspended: 2 } as const
export type SimStatus = CodeOf<typeof SimStatus>

/** Service document, section 2.5; 2 to 4 are our own. Provision also stands for moves and unassignments. */
export const TicketType = { Activate: 0, Suspend: 1, Provision: 2, 'Send SMS': 3, Refresh: 4 } as const
export type TicketType = CodeOf<typeof TicketType>

/** Service document, section 2.5; 3 and 4 are our own. 2, 3 and 4 are final. */
export const TicketStatus = { Pending: 0, Processing: 1, Complete: 2, Failed: 3, Cancelled: 4 } as const
export type TicketStatus = CodeOf<typeof TicketStatus>

/** Service document, section 2.6. */
export const OrderType = { 'Physical SIM': 1, eSIM: 2 } as const
export type OrderType = CodeOf<typeof OrderType>

/** Service document, section 2.8. */
export const TariffType = { Standard: 0, 'Dynamic Pool': 1, 'Fixed Pool': 2 } as const
export type TariffType = CodeOf<typeof TariffType>

/** Our own: the specification has no codes for events. */
export const EventType = { Connectivity: 0, Billing: 1, Platform: 2 } as const
export type EventType = CodeOf<typeof EventType>

/** Not from the service document. Served under the key `severty`, the interface's spelling. */
export const EventSeverity = { Info: 0, Warning: 1, Critical: 2 } as const
export type EventSeverity = CodeOf<typeof EventSeverity>

/** JSON schema that accepts exactly the codes of a table. */
export const codeSchema = <T extends CodeTable>(table: T, description: string) =>
  Type.Unsafe<CodeOf<T>>({
    type: 'integer',
    enum: Object.values(table),
    description: `${description}: ${Object.entries(table)
      .map(([label, code]) => `${code} = ${label}`)
      .join(', ')}`,
  })

/** A table's codes and labels, as the metadata endpoints list them. */
export const metadataOf = (table: CodeTable) =>
  Object.entries(table).map(([description, code]) => ({ code, description }))

const labelsOfTables = new WeakMap<CodeTable, ReadonlyMap<number, string>>()

/** The label of a code; the code as text if the table does not have it. Allocates nothing for a table that it has met. */
export function labelOf(table: CodeTable, code: number): string {
  let labels = labelsOfTables.get(table)
  if (labels === undefined) {
    labels = new Map(Object.entries(table).map(([label, known]) => [known, label]))
    labelsOfTables.set(table, labels)
  }
  return labels.get(code) ?? String(code)
}
