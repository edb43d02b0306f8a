import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { PageQuery, pageOf } from '../../../domain/page.ts'
import { ChangedRules, changeFields, expectField, RuleChange, RuleVersion } from '../../../domain/rules/rule-change.ts'
import { Instant, nullable, strictObject } from '../../../domain/schema.ts'
import { pageOfRuleHistory } from '../../../service/rules/rows/rule-history.ts'
import { activateRuleVersion, pushRules, readVersion, rollBackRules } from '../../../service/rules/rule-versions.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { onBehalfOf } from '../../http/change.ts'
import { idempotentInPlatform } from '../../http/idempotency.ts'
import type { InternalOptions } from '../../options.ts'
import { RULES_BYTES, setFields } from './rules.ts'

const Version = strictObject({
  version: RuleVersion,
  createdAt: Instant('When it came in'),
  author: Type.String({ description: 'Who brought it in' }),
  reason: nullable(Type.String({ description: 'Why; null where nobody said' })),
  activatedAt: nullable(Instant('When it was put in force last; null: never')),
  files: Type.Array(
    strictObject({
      file: Type.String({ description: 'Path below the rules folder' }),
      text: Type.String({ description: 'The file as it is' }),
    }),
  ),
})
const OneVersion = Type.Object({ version: RuleVersion })
const config = { tenant: 'none' } as const
const tags = ['Rules']

export const ruleVersionRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store }) => {
  app.get(
    '/rules/versions',
    {
      config,
      schema: {
        operationId: 'listRuleVersions',
        summary: 'Versions that came in, and which was put in force when, by whom and why; newest first',
        tags,
        querystring: PageQuery,
        response: { 200: pageOf(RuleChange) },
      },
    },
    ({ query }) => inPlatform(store, (tx) => pageOfRuleHistory(tx, query)),
  )

  app.get(
    '/rules/versions/:version',
    {
      config: { ...config, problems: ['rules_version_not_found'] },
      schema: {
        operationId: 'getRuleVersion',
        summary: 'A version with its files',
        tags,
        params: OneVersion,
        response: { 200: Version },
      },
    },
    async ({ params }) => {
      const set = await inPlatform(store, (tx) => readVersion(tx, params.version))
      const { version, createdAt, author, reason, activatedAt, files } = set
      return {
        version,
        createdAt: createdAt.toISOString(),
        author,
        reason,
        activatedAt: activatedAt?.toISOString() ?? null,
        files: files.map(({ file, text }) => ({ file, text })),
      }
    },
  )

  app.post(
    '/rules/versions',
    {
      bodyLimit: RULES_BYTES,
      config: { ...config, problems: ['rules_rejected'], idempotent: false },
      schema: {
        operationId: 'pushRules',
        summary: 'Bring in a rule set without putting it in force',
        description: 'Checked as a whole, with its examples. The same files keep their version.',
        tags,
        body: strictObject(setFields),
        response: { 200: OneVersion },
      },
    },
    (request) => pushRules(onBehalfOf(store, request), request.body.files, request.body),
  )

  app.post(
    '/rules/versions/:version/activate',
    {
      config: {
        ...config,
        problems: ['rules_version_not_found', 'rules_rejected', 'rules_moved'],
        idempotent: false,
      },
      schema: {
        operationId: 'activateRuleVersion',
        summary: 'Put a version in force',
        tags,
        params: OneVersion,
        body: strictObject({ ...changeFields, ...expectField }),
        response: { 200: ChangedRules },
      },
    },
    (request) => activateRuleVersion(onBehalfOf(store, request), request.params.version, request.body),
  )

  app.post(
    '/rules/rollback',
    {
      config: {
        ...config,
        problems: ['rules_version_not_found', 'rules_rejected', 'rules_moved', 'no_earlier_rules'],
      },
      schema: {
        operationId: 'rollBackRules',
        summary: 'Put the version in force that was so before',
        tags,
        body: strictObject({ ...changeFields, ...expectField, to: Type.Optional(RuleVersion) }),
        response: { 200: ChangedRules },
      },
    },
    (request, reply) => {
      const { to, ...by } = request.body
      return idempotentInPlatform(store, { request, reply }, (tx) => rollBackRules(tx, to, by))
    },
  )
}
