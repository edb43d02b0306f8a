import { Type } from 'typebox'
import { LargestSim, LargestSimsQuery } from '../../../domain/pools/largest-sims.ts'
import { strictObject } from '../../../domain/schema.ts'
import { knownPool } from '../../../service/pools/rows/pools.ts'
import { readLargestSims } from '../../../service/sims/rows/largest-sims.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { PoolParams } from '../../http/params.ts'

const route = internalRoutes('Pools')

export const internalPoolRoutes = [
  route('GET', '/pools/:id/largest-sims', {
    operationId: 'listLargestSims',
    summary: 'SIMs that have used the most data of a pool in the running cycle, the largest first',
    description:
      'SIMs that have left the pool during the cycle are among them: their usage in it stays its usage. SIMs without data are left out. Reads the usage of all SIMs of the pool.',
    problems: ['pool_not_found'],
    params: PoolParams,
    query: LargestSimsQuery,
    response: { 200: strictObject({ sims: Type.Array(LargestSim) }) },
    read: async (tx, { params, query }) => {
      await knownPool(tx, params.id)
      return { sims: await readLargestSims(tx, params.id, query.limit ?? 10) }
    },
  }),
]
