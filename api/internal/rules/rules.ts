import { Type } from 'typebox'
import { ChangedRules, changeFields, expectField } from '../../../domain/rules/rule-change.ts'
import { Instant, nullable, oneOf, strictObject, Text } from '../../../domain/schema.ts'
import { SUBJECT_KINDS } from '../../../domain/watchdog/subject.ts'
import { BOUNDS, Match, STAGES } from '../../../rules/rule-file.ts'
import { TEST_BOUNDS } from '../../../rules/timeline/test-file.ts'
import { earlierRuleVersions } from '../../../service/rules/rows/rule-sets.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { countHeard } from '../../../store/rule-spreads.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { answersVersion } from '../../http/etag.ts'
import { onBehalfOf } from '../../http/on-behalf-of.ts'

const Rules = strictObject({
  version: Type.Integer({ minimum: 0, description: 'Version of the set; 0 before the first' }),
  activatedAt: nullable(Instant('Time since it is in force')),
  refused: nullable(
    strictObject(
      {
        version: Type.Integer({ minimum: 1, description: 'Version of the set activated last' }),
        reason: Type.String({ description: 'First fault, and the number of further ones' }),
      },
      {
        description:
          'The set activated last, if this build refuses it: the newest accepted set stays in force; else null',
      },
    ),
  ),
  previous: nullable(
    Type.Integer({ minimum: 1, description: 'Version in force before the set activated last; null: none' }),
  ),
  heard: strictObject(
    {
      tenants: Type.Integer({ minimum: 0, description: 'Tenants already using it' }),
      of: Type.Integer({ minimum: 0, description: 'Number of tenants' }),
    },
    { description: 'Spread of the newest change' },
  ),
  rules: Type.Array(
    strictObject({
      name: Type.String(),
      description: Text('Purpose of the rule', 'A SIM has used more than its own allowance.'),
      subject: oneOf(SUBJECT_KINDS),
      match: Match,
      file: Type.String({ description: 'Path below the rules folder' }),
      stage: oneOf(STAGES, 'Stage: how far the rule may act'),
    }),
  ),
})

/** The files of a set. */
export const filesOfSet = (description: string) =>
  Type.Array(
    strictObject({
      file: Type.String({ minLength: 1, maxLength: 300, description: 'Path below the rules folder' }),
      text: Type.String({ maxLength: BOUNDS.fileChars, description: 'Text of the file' }),
    }),
    { minItems: 1, maxItems: BOUNDS.files + TEST_BOUNDS.files, description },
  )
/** Fields of a request that brings in a set. */
export const setFields = {
  files: filesOfSet('The whole set: files missing from it are no longer in force'),
  ...changeFields,
}
/** Most bytes of the files of a set. */
export const RULES_BYTES = 8 * 1024 * 1024

const route = internalRoutes('Rules', { tenant: 'none' })

export const ruleRoutes = [
  route('GET', '/rules', {
    operationId: 'listRules',
    summary: 'The rule set in force',
    versioned: true,
    response: { 200: Rules },
    readPlatform: async (tx, _request, { rules, reply }) => {
      const [set, heard, [previous = null]] = [await rules(tx), await countHeard(tx), await earlierRuleVersions(tx)]
      answersVersion(reply, set.refused?.version ?? set.version)
      return {
        version: set.version,
        activatedAt: set.activatedAt?.toISOString() ?? null,
        refused: set.refused,
        previous,
        heard,
        rules: set.rules.map(({ name, description, subject, match, file, event }) => {
          return { name, description, subject, match, file, stage: event.params.stage }
        }),
      }
    },
  }),
  route('POST', '/rules', {
    operationId: 'loadRules',
    summary: 'Activate a complete rule set',
    description:
      'Checked as a whole, and its tests are run (`*.test.json`); on any fault the previous set stays in force, and the ' +
      'answer lists every fault.',
    problems: ['rules_rejected', 'rules_moved'],
    idempotent: false,
    body: strictObject({ ...setFields, ...expectField }),
    response: { 200: ChangedRules },
    bodyLimit: RULES_BYTES,
    handle: (request, { store }) => {
      const { files, author, ...more } = request.body
      return activateRules(onBehalfOf(store, request), files, author, more)
    },
  }),
]
