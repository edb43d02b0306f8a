/**
 * The JSON schema of rule files, for editors: made from what the load gate itself reads, so that an editor offers the
 * facts, operators, levels and actions there are. `rules/rule-file.schema.json` is its text; `npm run generate` writes it.
 *
 * The gate refuses more: types and units of operands, negations over what may be unknown, examples that come out
 * otherwise.
 */

import { NEGATION, OPERATORS } from '../../domain/watchdog/operators.ts'
import { SUBJECT_KINDS, type SubjectKind } from '../../domain/watchdog/subject.ts'
import { type Fact, factsOf } from '../facts.ts'
import { BOUNDS, RuleFile } from '../rule-file.ts'

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

/** Definitions for one kind of subject, whose facts they offer. */
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

/** What holds in the file of a rule for one kind of subject, beside what holds in all. */
function whenSubject(subject: SubjectKind): Json {
  const facts = { propertyNames: ref(`${subject}-fact`) }
  return {
    if: { required: ['subject'], properties: { subject: { const: subject } } },
    // oxlint-disable-next-line unicorn/no-thenable -- the word is JSON schema's
    then: {
      properties: {
        conditions: ref(`${subject}-group`),
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

/** The schema as an object. */
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
    allOf: SUBJECT_KINDS.map(whenSubject),
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
