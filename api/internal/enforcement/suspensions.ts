import { SuspensionChange } from '../../../domain/enforcement/enforcement.ts'
import { IdResponse } from '../../../domain/schema.ts'
import { setSuspensionUntil } from '../../../service/enforcement/set-suspension-until.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import { SimParams } from '../../http/params.ts'
import type { InternalOptions } from '../../options.ts'

const route = declareRoutes<InternalOptions>('Enforcement')

export const suspensionRoutes = [
  route('PATCH', '/sims/:id/suspension', {
    operationId: 'setSuspensionUntil',
    summary: "Change the end of a suspension by the watchdog; sent by its workflow after a person's update",
    problems: ['sim_not_found', 'sim_state_conflict'],
    params: SimParams,
    body: SuspensionChange,
    response: { 200: IdResponse },
    change: (tx, { params, body }) => setSuspensionUntil(tx, { ...body, id: params.id }),
  }),
]
