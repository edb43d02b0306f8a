/** The audit trail of the internal interface. */
import { type Static, Type } from 'typebox'
import { DateFilter, pageQuery } from '../page.ts'
import { Actor, Id, Instant, KeyId, KeyName, nullable, oneOf, RequestId, strictObject } from '../schema.ts'

/** Things that a caller can change, and the activation codes of eSIMs, which a caller can read. */
export const AUDIT_SUBJECTS = [
  'tenant',
  'key',
  'session',
  'tariff',
  'pool',
  'sim',
  'sim-import',
  'esim-codes',
  'ticket',
  'bulk-tickets',
  'order',
  'order-prices',
  'cycle',
  'workflow',
  'schedule',
  'rules',
  'hold',
  'silence',
  'alert',
  'mail',
  'webhook',
  'address',
] as const
export type AuditSubject = (typeof AUDIT_SUBJECTS)[number]

const Subject = oneOf(AUDIT_SUBJECTS, 'Kind of the changed object')
const SubjectId = Type.String({ maxLength: 300, description: 'Id of the changed object' })
const WorkflowId = Type.String({
  maxLength: 300,
  description: 'The requesting workflow, with the workers’ key',
})
const Action = Type.String({ maxLength: 100, description: 'operationId of the request, or name of the command' })
const Values = (description: string) =>
  Type.Unsafe<object | null>({ type: ['object', 'null'], additionalProperties: true, description })

export const AuditEntry = strictObject({
  id: Id('Id of the entry'),
  at: Instant('Time of the change'),
  actor: Actor,
  actorName: KeyName,
  keyId: nullable(KeyId),
  requestId: RequestId,
  workflowId: nullable(WorkflowId),
  action: Action,
  subject: Subject,
  subjectId: SubjectId,
  before: Values('Changed fields before; null: the object did not exist'),
  after: Values('Changed fields after; null: the object is gone'),
})
export type AuditEntry = Static<typeof AuditEntry>

export const AuditQuery = Type.Object({
  subject: Type.Optional(Subject),
  subjectId: Type.Optional(SubjectId),
  actor: Type.Optional(Actor),
  keyId: Type.Optional(KeyId),
  requestId: Type.Optional(RequestId),
  workflowId: Type.Optional(WorkflowId),
  action: Type.Optional(Action),
  date: Type.Optional(DateFilter),
  ...pageQuery,
})
export type AuditQuery = Static<typeof AuditQuery>
