import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { ChangedRules, changeFields } from '../../../domain/rules/rule-change.ts'
import { strictObject } from '../../../domain/schema.ts'
import { BOUNDS } from '../../../rules/rule-file.ts'
import { changeRuleFile } from '../../../service/rules/change-rule-file.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { versionsAsked } from '../../http/etag.ts'
import { onBehalfOf } from '../../http/on-behalf-of.ts'

const OneFile = Type.Object({
  file: Type.String({
    minLength: 1,
    maxLength: 300,
    description: 'Path below the rules folder, with slashes as %2F',
    examples: ['sim/sim-overage.json'],
  }),
})

const asSeen = (request: FastifyRequest): readonly number[] | undefined => {
  const asked = versionsAsked(request.headers['if-match'])
  return asked === 'any' ? undefined : asked
}

const route = internalRoutes('Rules', { tenant: 'none', versioned: true })

/** One file of the set in force. `If-Match` is about the version of the set: the ETag of `GET /internal/rules`. */
export const ruleFileRoutes = [
  route('PUT', '/rules/files/:file', {
    operationId: 'putRuleFile',
    summary: 'Replace or add one file of the rule set in force',
    description: 'Checked as a whole with the other files; on any fault the previous set stays in force.',
    problems: ['rules_rejected', 'rules_moved'],
    params: OneFile,
    body: strictObject({
      text: Type.String({ maxLength: BOUNDS.fileChars, description: 'Text of the file' }),
      ...changeFields,
    }),
    response: { 200: ChangedRules },
    handle: (request, { store }) =>
      changeRuleFile(onBehalfOf(store, request), { ...request.params, ...request.body, asSeen: asSeen(request) }),
  }),
  route('DELETE', '/rules/files/:file', {
    operationId: 'removeRuleFile',
    summary: 'Remove one file from the rule set in force',
    problems: ['rule_file_not_found', 'rules_rejected', 'rules_moved'],
    params: OneFile,
    query: Type.Object(changeFields),
    response: { 200: ChangedRules },
    handle: (request, { store }) =>
      changeRuleFile(onBehalfOf(store, request), {
        ...request.params,
        ...request.query,
        text: null,
        asSeen: asSeen(request),
      }),
  }),
]
