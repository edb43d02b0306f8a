/** Path parameters. */
import { Type } from 'typebox'
import { type ErrorCode, ServiceError } from '../../domain/errors.ts'
import { Id, Text, UUID } from '../../domain/schema.ts'
import { SessionId } from '../../domain/tenants/session.ts'

export const PoolParams = Type.Object({ id: Id('Pool id') })
export const SimParams = Type.Object({ id: Id('SIM id') })
export const SimOrIccidParams = Type.Object({
  idOrIccid: Type.String({ description: 'SIM id, or ICCID (18 to 22 digits)' }),
})
export const EventParams = Type.Object({ id: Id('Event id') })
export const OrderParams = Type.Object({ orderId: Id('Order id') })
export const UsageDeliveryParams = Type.Object({ id: Id('Delivery id') })
export const TariffParams = Type.Object({ id: Id('Tariff id') })
/** Not checked as UUIDs here: other text names nothing, so the response is 404. */
const uuidParams = (description: string) =>
  Type.Object({ id: Text(description, '0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a11') })
export const TicketParams = uuidParams('Ticket id (UUID)')
export const BulkParams = uuidParams('Id of the bulk run (UUID)')
export const BatchParams = uuidParams('Id of the batch (UUID)')
export const KeyParams = Type.Object({ id: Text('Key id', '6a34354728b4') })
export const SessionParams = Type.Object({ id: SessionId })
export const CycleParams = Type.Object({ key: Type.String({ maxLength: 32, description: 'Key of the cycle' }) })
export const WorkflowParams = Type.Object({
  workflowId: Type.String({ maxLength: 300, description: 'Id of the workflow' }),
})

/** Reads a path segment as a UUID, in lower case. @throws ServiceError with this code for other text */
const uuidReader = (code: ErrorCode, noun: string, whose: string) => (segment: string) => {
  if (UUID.test(segment)) return segment.toLowerCase()
  throw new ServiceError(code, `There is no ${noun} ${segment}: ${whose} ids are UUIDs.`)
}
export const ticketIdOf = uuidReader('ticket_not_found', 'ticket', 'ticket')
export const bulkIdOf = uuidReader('bulk_not_found', 'bulk run', 'their')
export const batchIdOf = uuidReader('batch_not_found', 'batch', 'their')
