/**
 * The JSON schemas of rule files and of shared conditions, for editors. They are made from the tables of the load gate,
 * so an editor offers all existing facts, operators, levels and actions. `npm run generate` writes them to
 * `rules/rule-file.schema.json` and `rules/shared-condition.schema.json`.
 *
 * The load gate refuses more: wrong types and units of operands, negations of facts that may be unknown, and examples
 * with a wrong result.
 */

import { NEGATION, OPERATORS } from '../../domain/rules/operators.ts'
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/watchdog/subject.ts'
import { type Fact, factsOf } from '../facts.ts'
import { BOUNDS, RuleFile, SharedConditionFile } from '../rule-file.ts'

type Json = Readonly<Record<string, unknown>>

const factText = ({ type, unit, nullable, meaning, codes }: Fact): string => {
  const listed = Object.entries(codes ?? {}).map(([label, code]) => `${code} = ${label}`)
  const kind = [type, unit === null ? '' : ` in ${unit}`, nullable ? ', or null' : ''].join('')
  return `${meaning}${listed.length === 0 ? '' : ` (${listed.join(', ')})`}. ${kind}`
}

const named = (names: Iterable<readonly [string, string]>): Json => ({
  type: 'string',
  oneOf: [...names].map(([name, description]) => ({ const: name, description })),
})

const ref = (name: string): Json => ({ $ref: `#/$defs/${name}` })
const group = (kind: string, inner: Json): Json => ({
  type: 'object',
  required: [kind],
  additionalProperties: false,
  properties: { [kind]: inner, priority: ref('priority') },
})

/** Definitions for one kind of subject, which offer its facts. */
function conditionsFor(subject: SubjectKind): Json {
  const list = { type: 'array', minItems: 1, maxItems: BOUNDS.nodes, items: ref(`${subject}-condition`) }
  return {
    [`${subject}-fact`]: named([...factsOf(subject)].map(([name, fact]) => [name, factText(fact)])),
    [`${subject}-group`]: {
      anyOf: [
        group('all', list),
        group('any', list),
        group('not', ref(`${subject}-condition`)),
        group('condition', { type: 'string', description: 'Name of a shared condition' }),
      ],
    },
    [`${subject}-condition`]: { anyOf: [ref(`${subject}-comparison`), ref(`${subject}-group`)] },
    [`${subject}-comparison`]: {
      type: 'object',
      required: ['fact', 'operator', 'value'],
      additionalProperties: false,
      properties: {
        fact: ref(`${subject}-fact`),
        operator: ref('operator'),
        value: {
          anyOf: [
            { type: ['string', 'number', 'boolean'] },
            {
              type: 'array',
              minItems: 1,
              maxItems: BOUNDS.listItems,
              items: { type: ['string', 'number', 'boolean'] },
            },
            {
              type: 'object',
              required: ['fact'],
              additionalProperties: false,
              properties: { fact: ref(`${subject}-fact`) },
            },
          ],
        },
        priority: ref('priority'),
      },
    },
  }
}

/** Additional constraints on rule files for one kind of subject. */
function whenSubject(subject: SubjectKind): Json {
  const facts = { propertyNames: ref(`${subject}-fact`) }
  return {
    if: { required: ['subject'], properties: { subject: { const: subject } } },
    // oxlint-disable-next-line unicorn/no-thenable -- the word is JSON schema's
    then: {
      ...(subject === 'tag' ? { required: ['match'] } : {}),
      properties: {
        ...(subject === 'tag' ? { match: { required: ['tag'] } } : {}),
        conditions: ref(`${subject}-group`),
        ladder: { properties: { fact: ref(`${subject}-fact`) } },
        event: {
          properties: {
            params: { properties: { clear: ref(`${subject}-group`), occurrence: ref(`${subject}-fact`) } },
          },
        },
        examples: { items: { properties: { facts } } },
      },
    },
  }
}

/** Without a ladder a rule has conditions and a level; with one, its steps have the levels. */
const BY_LADDER: Json = {
  if: { required: ['ladder'] },
  // oxlint-disable-next-line unicorn/no-thenable -- the word is JSON schema's
  then: { properties: { event: { properties: { params: { properties: { level: false } } } } } },
  else: {
    required: ['conditions'],
    properties: { event: { properties: { params: { required: ['level'] } } } },
  },
}

export function ruleFileSchema(): Json {
  const operators = Object.entries(OPERATORS).flatMap(([name, { meaning }]) => [
    [name, `The fact ${meaning} the value`] as const,
    [`${NEGATION}${name}`, `Not so that the fact ${meaning} the value`] as const,
  ])
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $comment: 'Generated from rules/*.ts by rules/load/rule-file-schema.ts: do not edit.',
    title: 'Rule of the watchdog',
    ...RuleFile,
    allOf: [...SUBJECT_KINDS.map(whenSubject), BY_LADDER],
    $defs: {
      operator: named(operators),
      priority: {
        type: 'integer',
        minimum: 1,
        maximum: 1000,
        description: 'Higher ones are decided first; left out: 1',
      },
      ...Object.assign({}, ...SUBJECT_KINDS.map(conditionsFor)),
    },
  }
}

/** Name of the file that {@link ruleFileSchema} is kept in. */
export const RULE_SCHEMA = 'rule-file.schema.json'

/** The schema of files with shared conditions. It refers to that of rule files, in the same folder. */
export function sharedConditionSchema(): Json {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $comment: 'Generated from rules/*.ts by rules/load/rule-file-schema.ts: do not edit.',
    title: 'Conditions that rules of the watchdog share',
    ...SharedConditionFile,
    allOf: SUBJECT_KINDS.map((subject) => ({
      if: { required: ['subject'], properties: { subject: { const: subject } } },
      // oxlint-disable-next-line unicorn/no-thenable -- the word is JSON schema's
      then: { properties: { conditions: { $ref: `${RULE_SCHEMA}#/$defs/${subject}-group` } } },
    })),
  }
}
