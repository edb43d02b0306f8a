import { Type } from 'typebox'
import { strictObject } from '../../domain/schema.ts'
import { dueWork, logByRule, mailsByStatus, simsByStatus, ticketsByStatus } from '../../store/counts.ts'
import { internalRoutes } from '../http/declare-routes.ts'

const Count = Type.Integer({ minimum: 0 })
const CountsBy = (what: string) => Type.Record(Type.String(), Count, { description: `Number by ${what}` })
const Counts = strictObject({
  simsByStatus: CountsBy('status of the SIM'),
  ticketsByStatus: CountsBy('status of the ticket'),
  logByRule: Type.Array(strictObject({ rule: Type.String(), level: Type.String(), count: Count })),
  mailsByStatus: CountsBy('status of the mail'),
  due: strictObject({ evaluations: Count, notices: Count, requests: Count }),
})

const route = internalRoutes('Operation')

export const countRoutes = [
  route('GET', '/counts', {
    operationId: 'readCounts',
    summary: "Counts over a tenant's estate",
    response: { 200: Counts },
    read: async (tx) => {
      // Due work becomes tickets and mail. Counted in this order, no work in transit is missed between two counts.
      const due = await dueWork(tx)
      return {
        due,
        ticketsByStatus: await ticketsByStatus(tx),
        mailsByStatus: await mailsByStatus(tx),
        simsByStatus: await simsByStatus(tx),
        logByRule: await logByRule(tx),
      }
    },
  }),
]
