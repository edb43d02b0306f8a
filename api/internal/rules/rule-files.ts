import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { ChangedRules, changeFields } from '../../../domain/rules/rule-change.ts'
import { strictObject } from '../../../domain/schema.ts'
import { BOUNDS } from '../../../rules/rule-file.ts'
import { changeRuleFile } from '../../../service/rules/change-rule-file.ts'
import { onBehalfOf } from '../../http/change.ts'
import { versionsAsked } from '../../http/etag.ts'
import type { InternalOptions } from '../../options.ts'

const OneFile = Type.Object({
  file: Type.String({
    minLength: 1,
    maxLength: 300,
    description: 'Path below the rules folder, its slashes written as %2F',
    examples: ['sim/sim-overage.json'],
  }),
})

const asSeen = (request: FastifyRequest): readonly number[] | undefined => {
  const asked = versionsAsked(request.headers['if-match'])
  return asked === 'any' ? undefined : asked
}

/** One file of the set in force. `If-Match` is about the version of the set: the ETag of `GET /internal/rules`. */
export const ruleFileRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  const config = { tenant: 'none', versioned: true } as const
  const tags = ['Rules']

  app.put(
    '/rules/files/:file',
    {
      config: { ...config, problems: ['rules_rejected', 'rules_moved'] },
      schema: {
        operationId: 'putRuleFile',
        summary: 'Put one file into the rule set in force; the others stay',
        description: 'Checked with the others, as a whole; with any fault the set before stays.',
        tags,
        params: OneFile,
        body: strictObject({
          text: Type.String({ maxLength: BOUNDS.fileChars, description: 'The file as it is' }),
          ...changeFields,
        }),
        response: { 200: ChangedRules },
      },
    },
    (request) =>
      changeRuleFile(onBehalfOf(store, request), { ...request.params, ...request.body, asSeen: asSeen(request) }),
  )

  app.delete(
    '/rules/files/:file',
    {
      config: { ...config, problems: ['rule_file_not_found', 'rules_rejected', 'rules_moved'] },
      schema: {
        operationId: 'removeRuleFile',
        summary: 'Take one file out of the rule set in force; the others stay',
        tags,
        params: OneFile,
        querystring: Type.Object(changeFields),
        response: { 200: ChangedRules },
      },
    },
    (request) =>
      changeRuleFile(onBehalfOf(store, request), {
        ...request.params,
        ...request.query,
        text: null,
        asSeen: asSeen(request),
      }),
  )
}
