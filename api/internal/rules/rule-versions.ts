import { Type } from 'typebox'
import { PageQuery, pageOf } from '../../../domain/page.ts'
import { ChangedRules, changeFields, expectField, RuleChange, RuleVersion } from '../../../domain/rules/rule-change.ts'
import { Instant, nullable, strictObject } from '../../../domain/schema.ts'
import { pageOfRuleHistory } from '../../../service/rules/rows/rule-history.ts'
import { activateRuleVersion, pushRules, readVersion, rollBackRules } from '../../../service/rules/rule-versions.ts'
import { declareRoutes } from '../../http/declare-routes.ts'
import { onBehalfOf } from '../../http/on-behalf-of.ts'
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

const route = declareRoutes<InternalOptions>('Rules', { tenant: 'none' })

export const ruleVersionRoutes = [
  route('GET', '/rules/versions', {
    operationId: 'listRuleVersions',
    summary: 'Versions that came in, and which was put in force when, by whom and why; newest first',
    query: PageQuery,
    response: { 200: pageOf(RuleChange) },
    readPlatform: (tx, { query }) => pageOfRuleHistory(tx, query),
  }),
  route('GET', '/rules/versions/:version', {
    operationId: 'getRuleVersion',
    summary: 'A version with its files',
    problems: ['rules_version_not_found'],
    params: OneVersion,
    response: { 200: Version },
    readPlatform: async (tx, { params }) => {
      const { version, createdAt, author, reason, activatedAt, files } = await readVersion(tx, params.version)
      return {
        version,
        createdAt: createdAt.toISOString(),
        author,
        reason,
        activatedAt: activatedAt?.toISOString() ?? null,
        files: files.map(({ file, text }) => ({ file, text })),
      }
    },
  }),
  route('POST', '/rules/versions', {
    operationId: 'pushRules',
    summary: 'Bring in a rule set without putting it in force',
    description: 'Checked as a whole, with its examples. The same files keep their version.',
    problems: ['rules_rejected'],
    idempotent: false,
    body: strictObject(setFields),
    response: { 200: OneVersion },
    bodyLimit: RULES_BYTES,
    handle: (request, { store }) => pushRules(onBehalfOf(store, request), request.body.files, request.body),
  }),
  route('POST', '/rules/versions/:version/activate', {
    operationId: 'activateRuleVersion',
    summary: 'Put a version in force',
    problems: ['rules_version_not_found', 'rules_rejected', 'rules_moved'],
    idempotent: false,
    params: OneVersion,
    body: strictObject({ ...changeFields, ...expectField }),
    response: { 200: ChangedRules },
    handle: (request, { store }) =>
      activateRuleVersion(onBehalfOf(store, request), request.params.version, request.body),
  }),
  route('POST', '/rules/rollback', {
    operationId: 'rollBackRules',
    summary: 'Put the version in force that was so before',
    problems: ['rules_version_not_found', 'rules_rejected', 'rules_moved', 'no_earlier_rules'],
    body: strictObject({ ...changeFields, ...expectField, to: Type.Optional(RuleVersion) }),
    response: { 200: ChangedRules },
    changePlatform: (tx, { body: { to, ...by } }) => rollBackRules(tx, to, by),
  }),
]
