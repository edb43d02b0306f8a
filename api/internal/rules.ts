import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { Instant, nullable, strictObject } from '../../domain/schema.ts'
import { rulesInForce } from '../../operations/rules-in-force.ts'
import { STAGES, type Stage } from '../../rules/rule-file.ts'
import { inPlatform } from '../../store/tenancy.ts'
import type { InternalOptions } from '../server.ts'

const Rules = strictObject({
  version: Type.Integer({ minimum: 0, description: 'Version of the set; 0 before the first' }),
  activatedAt: nullable(Instant('Since when it is in force')),
  rules: Type.Array(
    strictObject({
      name: Type.String(),
      subject: Type.Unsafe<'sim' | 'pool' | 'tenant'>({ type: 'string', enum: ['sim', 'pool', 'tenant'] }),
      file: Type.String({ description: 'Path below the rules folder' }),
      stage: Type.Unsafe<Stage>({ type: 'string', enum: [...STAGES] }),
    }),
  ),
})

export const ruleRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { ground }) => {
  const inForce = rulesInForce()
  app.get(
    '/rules',
    {
      schema: { operationId: 'listRules', summary: 'The rule set in force', tags: ['Rules'], response: { 200: Rules } },
    },
    async () => {
      const set = await inPlatform(ground, inForce)
      return {
        version: set.version,
        activatedAt: set.activatedAt?.toISOString() ?? null,
        rules: set.rules.map(({ name, subject, file, event }) => ({ name, subject, file, stage: event.params.stage })),
      }
    },
  )
}
