/** The SIMs that have used the most data of a pool. 1 MB is 10^6 bytes. */
import { type Static, Type } from 'typebox'
import { codeSchema, SimStatus } from '../codes.ts'
import { Id, objectWithExample } from '../schema.ts'

export const LargestSimsQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 10, description: 'Most SIMs, 1 to 100; default 10' }),
  ),
})
export type LargestSimsQuery = Static<typeof LargestSimsQuery>

export const LargestSim = objectWithExample(
  {
    id: Id('SIM id'),
    iccid: Type.String({ description: 'ICCID' }),
    tag: Type.String({ description: 'User-defined label' }),
    status: codeSchema(SimStatus, 'SIM status'),
    isInPool: Type.Boolean({ description: 'Whether it is in the pool now; false: it has left it during the cycle' }),
    usageMB: Type.Number({ description: 'Data used in this pool this cycle in MB' }),
    sharePct: Type.Number({ description: 'That as a share of the usage of the pool, in percent, at most 100' }),
  },
  {
    id: 1,
    iccid: '8999900000000000017',
    tag: 'meter 17',
    status: SimStatus.Active,
    isInPool: true,
    usageMB: 41.5,
    sharePct: 12.5,
  },
)
export type LargestSim = Static<typeof LargestSim>
