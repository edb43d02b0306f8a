/** The costs of a billing cycle: the statement of a closed cycle, the plan for an open one, and the cost of either. */
import { Type } from 'typebox'
import { CycleCost } from '../../../domain/month-end/cost.ts'
import { MonthEndPlan } from '../../../domain/month-end/plan.ts'
import { Id, nullable, oneOf, strictObject, Text } from '../../../domain/schema.ts'
import { COSTS, PLANS } from '../../../service/month-end/keep-answer.ts'
import {
  allLines,
  type StatementLine as Line,
  pageOfLines,
  statementTotals,
} from '../../../service/month-end/rows/statements.ts'
import { STATEMENT_COLUMNS, statementRows } from '../../../service/month-end/statement-csv.ts'
import { cycleNamed, tenantSettings } from '../../../service/usage/rows/cycles.ts'
import { inTenant, readOnly } from '../../../store/tenancy.ts'
import { csvQuery, csvResponse, sendCsv } from '../../files/csv.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { keptRoute, keptWords } from '../../http/kept-route.ts'
import { CycleParams } from '../../http/params.ts'

const MOST = Number.MAX_SAFE_INTEGER
const filters = {
  poolId: Type.Optional(
    Type.Integer({ minimum: 0, maximum: MOST, description: 'Lines of this pool; 0: outside pools' }),
  ),
  simId: Type.Optional(Id('Lines of this SIM')),
}
const PageQuery = Type.Object({
  ...filters,
  afterLine: Type.Optional(
    Type.Integer({ minimum: 0, maximum: MOST, default: 0, description: '`nextAfterLine` of the previous page' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, default: 1000, description: 'Most lines' })),
})
const money = (what: string) => Type.Integer({ description: `${what}, in micro-units of the currency` })
const KINDS = ['sim', 'pool', 'empty', 'adjustment'] as const
const StatementLine = strictObject({
  kind: oneOf(
    KINDS,
    'adjustment: change of an earlier cycle since all previous statements; of a pool’s own line if `simId` is null',
  ),
  adjusts: nullable(Type.String({ description: 'Cycle of an adjustment; null for other lines', examples: [null] })),
  poolId: Type.Integer({ minimum: 0, description: 'Pool; 0: outside pools' }),
  poolName: Type.String(),
  simId: nullable(Id('SIM')),
  iccid: nullable(Type.String()),
  tag: nullable(Text('Tag of the SIM when the line was written', 'meter 18')),
  tariffId: nullable(Id('Governing tariff')),
  tariffName: nullable(Text('Name of that tariff', 'Metering 100 MB')),
  bytes: Type.Integer(),
  voiceSeconds: Type.Integer(),
  smsCount: Type.Integer(),
  limitBytes: Type.Integer(),
  overageBytes: Type.Integer(),
  feeMicro: money('Monthly fee, or cost of the bucket'),
  smsMicro: money('Messages'),
  voiceMicro: money('Voice'),
  overageMicro: money('Overage'),
})

const route = internalRoutes('Cycles')

/** @param time the field with the time of the figures */
const ofCycle = (time: string) =>
  `${keptWords(time)} The first request for a cycle, and the first after its close, waits for them; of a closed cycle they are final.`

export const statementRoutes = [
  route('GET', '/cycles/:key/statement', {
    operationId: 'readStatement',
    isOpenTo: 'read',
    summary: 'Statement of a closed cycle, page by page',
    description: 'Pools by id, followed by their SIMs; adjustments of earlier cycles last.',
    problems: ['cycle_not_found'],
    params: CycleParams,
    query: PageQuery,
    response: {
      200: strictObject({
        cycle: Type.String(),
        currency: Text('ISO 4217', 'EUR'),
        totalMicro: money('Sum of the whole statement, not only of this page'),
        lineCount: Type.Integer({ minimum: 0, description: 'Number of lines in the whole statement' }),
        lines: Type.Array(StatementLine),
        nextAfterLine: nullable(Id('Request lines after this one; null at the end')),
      }),
    },
    read: async (tx, { params: { key }, query: { afterLine = 0, limit = 1000, poolId, simId } }) => {
      await cycleNamed(tx, key)
      const { lines: lineCount, totalMicro } = (await statementTotals(tx, key)) ?? { lines: 0, totalMicro: 0 }
      const page = await pageOfLines(tx, key, { afterLine, limit, poolId, simId })
      const { currency } = await tenantSettings(tx)
      return { cycle: key, currency, totalMicro, lineCount, ...page }
    },
  }),
  route('GET', '/cycles/:key/statement.csv', {
    operationId: 'exportStatement',
    isOpenTo: 'read',
    summary: 'Statement of a closed cycle as CSV, in its mailed form',
    problems: ['cycle_not_found'],
    params: CycleParams,
    query: Type.Object({ ...filters, ...csvQuery }),
    ...csvResponse(
      'CSV; the first line names the columns. Amounts are in units of the currency',
      `${STATEMENT_COLUMNS.join()}\r\n`,
    ),
    handle: async ({ tenantId, params: { key }, query: { poolId, simId, ...options } }, { store, reply }) => {
      const { currency } = await inTenant(readOnly(store), tenantId, async (tx) => {
        await cycleNamed(tx, key)
        return tenantSettings(tx)
      })
      const pages = asRows(allLines(store, tenantId, key, { poolId, simId }), currency)
      return sendCsv(reply, `statement-${key}`, pages, { columns: STATEMENT_COLUMNS, ...options })
    },
  }),
  keptRoute(
    () => COSTS,
    (answer) =>
      route('GET', '/cycles/:key/cost', {
        operationId: 'readCycleCost',
        isOpenTo: 'read',
        summary: 'Cost of a billing cycle so far, and at its end if usage goes on as it did',
        description: `From the lines that a statement would have now; of a closed cycle from those of its statement. ${ofCycle('asOf')}`,
        problems: ['cycle_not_found'],
        params: CycleParams,
        response: { 200: CycleCost },
        slow: true,
        handle: (request, { store }) => answer(store, request, request.params.key),
      }),
  ),
  keptRoute(
    () => PLANS,
    (answer) =>
      route('GET', '/cycles/:key/plan', {
        operationId: 'planMonthEnd',
        summary: 'Preview of the month end; after the close, how its statement differs',
        description: `Shows the effects of a month end now, in bounded size. Changes nothing. ${ofCycle('at')} With \`fresh\` every request about an open cycle adds them up, and waits for them.`,
        problems: ['cycle_not_found'],
        params: CycleParams,
        query: Type.Object({
          fresh: Type.Optional(Type.Boolean({ default: false, description: 'Whether to add the figures up now' })),
        }),
        response: { 200: MonthEndPlan },
        slow: true,
        handle: (request, { store }) => answer(store, request, request.params.key, request.query.fresh),
      }),
  ),
]

async function* asRows(pages: AsyncGenerator<Line[]>, currency: string) {
  for await (const lines of pages) yield statementRows(lines, currency)
}
