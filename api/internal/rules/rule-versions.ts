import { Type } from 'typebox'
import { pageOf } from '../../../domain/page.ts'
import {
  ChangedRules,
  changeFields,
  expectField,
  HistoryQuery,
  RuleChange,
  RuleVersion,
} from '../../../domain/rules/rule-change.ts'
import { DifferencesQuery, VersionDifferences } from '../../../domain/rules/rule-difference.ts'
import { Instant, nullable, strictObject } from '../../../domain/schema.ts'
import { BOUNDS } from '../../../rules/rule-file.ts'
import { titlesOfTests } from '../../../rules/timeline/read-test-files.ts'
import { changeRuleFile } from '../../../service/rules/change-rule-file.ts'
import { pageOfRuleHistory } from '../../../service/rules/rows/rule-sets.ts'
import {
  activateRuleVersion,
  compareVersions,
  pushRules,
  readVersion,
  rollBackRules,
} from '../../../service/rules/rule-versions.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { versionsAsked } from '../../http/etag.ts'
import { onBehalfOf } from '../../http/on-behalf-of.ts'
import { RULES_BYTES, setFields } from './rules.ts'

const Version = strictObject({
  version: RuleVersion,
  createdAt: Instant('Time when it was stored'),
  author: Type.String({ description: 'Author of the version' }),
  reason: nullable(Type.String({ description: 'Reason; null: not given' })),
  activatedAt: nullable(Instant('Time of the last activation; null: never')),
  files: Type.Array(
    strictObject({
      file: Type.String({ description: 'Path below the rules folder' }),
      text: Type.String({ description: 'Text of the file' }),
    }),
  ),
  tests: Type.Array(
    strictObject({
      file: Type.String({ description: 'Path of the test file' }),
      rules: Type.Array(Type.String({ examples: ['sim-overage'] }), { description: 'Names of the tested rules' }),
      titles: Type.Array(Type.String({ examples: ['suspends at its limit'] }), { description: 'Titles of its tests' }),
    }),
    { description: 'Its tests. All had passed when it was stored' },
  ),
})
const OneVersion = Type.Object({ version: RuleVersion })
const OneFile = Type.Object({
  file: Type.String({
    minLength: 1,
    maxLength: 300,
    description: 'Path below the rules folder, with slashes as %2F',
    examples: ['sim/sim-overage.json'],
  }),
})

const route = internalRoutes('Rules', { tenant: 'none' })
/** One file of the set in force. `If-Match` is about the version of the set: the ETag of `GET /internal/rules`. */
const fileRoute = internalRoutes('Rules', { tenant: 'none', versioned: true })

/** Versions of the rule set, and changes of single files. */
export const ruleVersionRoutes = [
  route('GET', '/rules/versions', {
    operationId: 'listRuleVersions',
    summary: 'History of pushed and activated versions, with author and reason; newest first',
    query: HistoryQuery,
    response: { 200: pageOf(RuleChange) },
    readPlatform: (tx, { query }) => pageOfRuleHistory(tx, query),
  }),
  route('GET', '/rules/versions/:version', {
    operationId: 'getRuleVersion',
    summary: 'A rule set version with its files',
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
        tests: titlesOfTests(files),
      }
    },
  }),
  route('GET', '/rules/versions/:version/differences', {
    operationId: 'compareRuleVersions',
    summary: 'Differences by meaning of a rule set version to another',
    description:
      'Without `since`: to the version in force, or of that version to the one in force before it. The order and ' +
      'nesting of conditions, explicit defaults and examples make no difference.',
    problems: ['rules_version_not_found', 'rules_rejected'],
    params: OneVersion,
    query: DifferencesQuery,
    response: { 200: VersionDifferences },
    readPlatform: (tx, { params, query }, { rules }) => compareVersions(tx, params.version, query.since, rules),
  }),
  route('POST', '/rules/versions', {
    operationId: 'pushRules',
    summary: 'Store a rule set without activating it',
    description: 'Checked as a whole, with its examples and tests (`*.test.json`). Unchanged files keep their version.',
    problems: ['rules_rejected'],
    idempotent: false,
    body: strictObject(setFields),
    response: { 200: OneVersion },
    bodyLimit: RULES_BYTES,
    handle: (request, { store }) => pushRules(onBehalfOf(store, request), request.body.files, request.body),
  }),
  route('POST', '/rules/versions/:version/activate', {
    operationId: 'activateRuleVersion',
    summary: 'Activate a version',
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
    summary: 'Activate the previous version again',
    problems: ['rules_version_not_found', 'rules_rejected', 'rules_moved', 'no_earlier_rules'],
    body: strictObject({ ...changeFields, ...expectField, to: Type.Optional(RuleVersion) }),
    response: { 200: ChangedRules },
    changePlatform: (tx, { body: { to, ...by } }) => rollBackRules(tx, to, by),
  }),
  fileRoute('PUT', '/rules/files/:file', {
    operationId: 'putRuleFile',
    summary: 'Replace or add one file of the rule set in force',
    description:
      'Checked as a whole with the other files and their tests; on any fault the previous set stays in force.',
    problems: ['rules_rejected', 'rules_moved'],
    params: OneFile,
    body: strictObject({
      text: Type.String({ maxLength: BOUNDS.fileChars, description: 'Text of the file' }),
      ...changeFields,
    }),
    response: { 200: ChangedRules },
    handle: (request, { store }) =>
      changeRuleFile(onBehalfOf(store, request), {
        ...request.params,
        ...request.body,
        asSeen: versionsAsked(request),
      }),
  }),
  fileRoute('DELETE', '/rules/files/:file', {
    operationId: 'removeRuleFile',
    summary: 'Remove one file from the rule set in force, and with a rule its own tests',
    problems: ['rule_file_not_found', 'rules_rejected', 'rules_moved'],
    params: OneFile,
    query: Type.Object(changeFields),
    response: { 200: ChangedRules },
    handle: (request, { store }) =>
      changeRuleFile(onBehalfOf(store, request), {
        ...request.params,
        ...request.query,
        text: null,
        asSeen: versionsAsked(request),
      }),
  }),
]
