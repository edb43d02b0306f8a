/** Temporal updates that running workflows accept, by the type that their id begins with. */

import { type Static, type TSchema, Type } from 'typebox'
import { Until } from '../enforcement/enforcement.ts'
import { Instant, optional, strictObject } from '../schema.ts'
import { DURATION_PATTERN } from '../time/duration.ts'

export interface WorkflowUpdate {
  /** Schema of its one argument, a plain object. */
  readonly args: TSchema
  /** Fields: exactly one is required. */
  readonly oneOf?: readonly string[]
}

const Nothing = strictObject({})

const KeepSuspended = strictObject({
  until: optional(Until('manual (default): suspended beyond the renewal, until a person acts; renewal: reverts this')),
})

const ExtendGrace = strictObject({
  by: optional(
    Type.String({ pattern: DURATION_PATTERN, description: 'an ISO 8601 duration, as PT12H; or give until' }),
  ),
  until: optional(Instant('The new end of the grace; or give by')),
})

export const WORKFLOW_UPDATES: Readonly<Record<string, Readonly<Record<string, WorkflowUpdate>>>> = {
  'month-end-reprovision': { retryFailedChanges: { args: Nothing } },
  'suspend-on-overage': {
    resume: { args: Nothing },
    keepSuspended: { args: KeepSuspended },
    extendGrace: { args: ExtendGrace, oneOf: ['by', 'until'] },
  },
}

/** The argument of any update, as the OpenAPI document shows it. */
export const UpdateArgs = Type.Object(
  {},
  {
    additionalProperties: true,
    description: 'Argument of the update; the fields depend on its name',
    examples: [{ until: 'manual' }],
  },
)
export type UpdateArgs = Static<typeof UpdateArgs>

export const UpdateResponse = Type.Object(
  {},
  {
    additionalProperties: true,
    description:
      'State after the update: `phase`, `graceEndsAt`, `until`, `reason` of suspend-on-overage; the restarted ' +
      'changes of month-end-reprovision',
    examples: [
      {
        phase: 'suspended',
        graceEndsAt: null,
        until: 'manual',
        reason: 'a person keeps it suspended beyond the renewal',
      },
    ],
  },
)
