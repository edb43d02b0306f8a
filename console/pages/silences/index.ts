import type { FastifyInstance } from 'fastify'
import { html } from 'hono/html'
import type { Doors } from '../../calls.ts'
import { actRoutes, choiceForm, Done, doneNotice, OBJECT_PATHS, type ObjectParams } from '../../parts/form.ts'
import { facts } from '../../parts/marks.ts'
import { sendPage } from '../../parts/page.ts'
import { callsFor, type TenantParams } from '../../tenant.ts'
import { actsOn, readSilence, SILENCE_ACTS } from './acts.ts'
import { SilencesQuery, silencesPage } from './list.ts'
import { hasEnded, silenceFacts } from './marks.ts'

/** The pages of silences. @param clock epoch milliseconds */
export function silenceRoutes(app: FastifyInstance, doors: Doors, clock: () => number): void {
  app.get<{ Params: TenantParams; Querystring: SilencesQuery }>(
    '/t/:tenant/silences',
    { schema: { querystring: SilencesQuery } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const main = await silencesPage(calls, tenant, request.query)
      return sendPage(reply, { title: 'Silences', main, tenant, current: 'silences' })
    },
  )
  app.get<{ Params: ObjectParams; Querystring: Done }>(
    '/t/:tenant/silences/:id',
    { schema: { params: OBJECT_PATHS.silences, querystring: Done } },
    async (request, reply) => {
      const { calls, tenant } = await callsFor(request, doors)
      const silence = await readSilence(calls, request.params.id)
      const now = clock()
      const path = `/t/${tenant.id}/silences`
      const main = html`<div class="head"><div>
<p class="crumbs"><a href="${path}">Silences</a></p>
<h1>Silence ${silence.id} <span class="badge quiet">${hasEnded(silence, now) ? 'Ended' : 'Open'}</span></h1>
</div></div>
${doneNotice(request, SILENCE_ACTS)}
${
  hasEnded(silence, now)
    ? html`<div class="panel">${facts(silenceFacts(silence))}</div>`
    : actsOn(silence, now).map((act) => choiceForm(act, `${path}/${silence.id}`, act.confirm(silence, now)))
}`
      return sendPage(reply, { title: `Silence ${silence.id}`, main, tenant, current: 'silences' })
    },
  )
  for (const act of SILENCE_ACTS) actRoutes(app, doors, clock, act)
}
