/** Imports of SIMs: those not yet provisioned, and those that already exist at the carrier. */
import { type Static, Type } from 'typebox'
import { codeSchema, SimStatus } from '../codes.ts'
import { Count, Id, oneOf, optional, strictObject, Text } from '../schema.ts'
import { MOST_TOTAL, MOST_UNITS } from '../usage/usage-record.ts'
import { NewSim } from './sim.ts'

const amount = (maximum: number, description: string) => optional(Type.Integer({ minimum: 0, maximum, description }))

/** A SIM to import, in its state at the carrier. Left out: Unprovisioned, without pool, tariff and usage. */
export const ImportedSim = strictObject({
  ...NewSim.properties,
  status: optional(codeSchema(SimStatus, 'SIM status, by default Unprovisioned')),
  poolId: optional(Id('Pool of a provisioned SIM')),
  tariffId: optional(Id('Own tariff of a provisioned SIM')),
  activatedAt: optional(
    Text('Time of the activation, also of a suspended SIM: ISO 8601 with an offset or Z', '2026-03-01T00:00:00Z'),
  ),
  usageBytes: amount(MOST_TOTAL, 'Bytes used in the running billing cycle so far'),
  voiceSeconds: amount(MOST_UNITS, 'Seconds of voice in the running billing cycle so far'),
  smsCount: amount(MOST_UNITS, 'Messages in the running billing cycle so far'),
})
export type ImportedSim = Static<typeof ImportedSim>

/** Request to import SIMs. Items are checked one by one: only bad items are rejected. */
export const ImportSims = strictObject({
  sims: Type.Array(
    Type.Unsafe<unknown>({
      description:
        'A SIM: iccid and its other known fields. status, poolId, tariffId, activatedAt, usageBytes, voiceSeconds and smsCount give its state at the carrier',
    }),
    {
      maxItems: 100_000,
      description: 'SIMs to import, at most 100,000',
      examples: [
        [
          { iccid: '8999900000000000018', imsi: '001010000000018', tag: 'meter 18' },
          {
            iccid: '8999900000000000026',
            status: SimStatus.Active,
            poolId: 1,
            activatedAt: '2026-03-01T00:00:00Z',
            usageBytes: 41_500_000,
          },
        ],
      ],
    },
  ),
})

export const ImportQuery = Type.Object({
  dryRun: Type.Optional(Type.Boolean({ description: 'Only show created and rejected SIMs; change nothing' })),
})

/** Why a record is rejected: it has a fault, its ICCID exists, or it cannot have this pool or tariff. */
const REJECTIONS = [
  'invalid_request',
  'sim_exists',
  'pool_not_found',
  'tariff_not_found',
  'tariff_inactive',
  'tariff_needs_pool',
  'tariff_has_no_effect',
] as const
export type Rejection = (typeof REJECTIONS)[number]

export const ImportTotals = strictObject({
  unprovisioned: Count('Unprovisioned SIMs'),
  active: Count('Active SIMs'),
  suspended: Count('Suspended SIMs'),
  usageBytes: Count('Bytes used in the running billing cycle so far'),
  voiceSeconds: Count('Seconds of voice in the running billing cycle so far'),
  smsCount: Count('Messages in the running billing cycle so far'),
})
export type ImportTotals = Static<typeof ImportTotals>

const outcome = {
  rejected: Type.Array(
    strictObject({
      index: Type.Integer({ description: 'Place in the request, from 0' }),
      code: oneOf(REJECTIONS),
      detail: Type.String({
        description: 'Reason: field, value found, value expected; for files also the line',
      }),
    }),
  ),
  warnings: Type.Array(
    strictObject({
      index: Type.Integer({ description: 'Place in the request, from 0' }),
      field: Type.String({ description: 'Suspicious field' }),
      detail: Type.String({ description: 'Why' }),
    }),
    { description: 'Doubts about created SIMs; the first 1,000' },
  ),
  warningCount: Type.Integer({ description: 'Number of warnings, including omitted ones' }),
  totals: ImportTotals,
}

export const ImportResult = strictObject({
  created: Type.Array(strictObject({ iccid: Type.String(), id: Id('SIM id') })),
  ...outcome,
})
export type ImportResult = Static<typeof ImportResult>

export const ImportPreview = strictObject({
  dryRun: Type.Literal(true),
  created: Type.Array(strictObject({ iccid: Type.String() }), { description: 'SIMs to be created' }),
  ...outcome,
})
export type ImportPreview = Static<typeof ImportPreview>
