/** Ids of tickets that steps of workflows open. Each is derived from the step, so a step cannot open two tickets. */
import { createHash } from 'node:crypto'

/** Namespace of these ids: the UUIDv5 of `urn:simherd:tickets`. */
const NAMESPACE = '0f4f3900-4991-57ab-9b72-f5d85d826458'

/** UUIDv5 (RFC 9562) of a tenant's step. @param key the step's Idempotency-Key, different for each run and step */
export function ticketIdOfStep(tenantId: string, key: string): string {
  const bytes = createHash('sha1')
    .update(Buffer.from(NAMESPACE.replaceAll('-', ''), 'hex'))
    .update(`${tenantId}/${key}`)
    .digest()
    .subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
