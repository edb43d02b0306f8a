/** Path parameters. */
import { Type } from 'typebox'
import { type ErrorCode, ServiceError } from '../../domain/errors.ts'
import { Id, Text } from '../../domain/schema.ts'

export const PoolParams = Type.Object({ id: Id('Pool id') })
export const SimParams = Type.Object({ id: Id('SIM id') })
export const SimOrIccidParams = Type.Object({
  idOrIccid: Type.String({ description: 'SIM id, or ICCID (18 to 22 digits)' }),
})
export const EventParams = Type.Object({ id: Id('Event id') })
export const OrderParams = Type.Object({ orderId: Id('Order id') })
export const UsageDeliveryParams = Type.Object({ id: Id('Delivery id') })
export const TariffParams = Type.Object({ id: Id('Tariff id') })
/** Not checked as a UUID here: other text names no ticket, so the response is 404. */
export const TicketParams = Type.Object({ id: Text('Ticket id (UUID)', '0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a11') })
/** Not checked as a UUID here, like a ticket id. */
export const BulkParams = Type.Object({ id: Text('Id of the bulk run (UUID)', '0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a11') })
export const BatchParams = Type.Object({ id: Text('Id of the batch (UUID)', '0192f4c1-7d3a-7b52-9c55-2f6f1d0c8a11') })
export const KeyParams = Type.Object({ id: Text('Key id', '6a34354728b4') })
export const CycleParams = Type.Object({ key: Type.String({ maxLength: 32, description: 'Key of the cycle' }) })
export const WorkflowParams = Type.Object({
  workflowId: Type.String({ maxLength: 300, description: 'Id of the workflow' }),
})

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** @throws ServiceError with this code and text if a path segment is no UUID. @returns the id, in lower case */
function uuidOf(segment: string, code: ErrorCode, detail: string): string {
  if (UUID.test(segment)) return segment.toLowerCase()
  throw new ServiceError(code, detail)
}

/** @throws ServiceError ticket_not_found if the segment is no UUID */
export const ticketIdOf = (segment: string): string =>
  uuidOf(segment, 'ticket_not_found', `There is no ticket ${segment}: ticket ids are UUIDs.`)

/** @throws ServiceError bulk_not_found if the segment is no UUID */
export const bulkIdOf = (segment: string): string =>
  uuidOf(segment, 'bulk_not_found', `There is no bulk run ${segment}: their ids are UUIDs.`)

/** @throws ServiceError batch_not_found if the segment is no UUID */
export const batchIdOf = (segment: string): string =>
  uuidOf(segment, 'batch_not_found', `There is no batch ${segment}: their ids are UUIDs.`)
