import { readFileSync } from 'node:fs'
import { Check } from 'typebox/schema'
import { describe, expect, test } from 'vitest'
import { loadRuleSet } from '../../../rules/load/load-rule-set.ts'
import { RULE_SCHEMA, ruleFileSchema, sharedConditionSchema } from '../../../rules/load/rule-file-schema.ts'
import { aFile, aLadder, leaf, STEPS, shippedFiles } from './samples.ts'

const files = shippedFiles()

describe('the shipped rules', () => {
  test('load without fault from folders of their subjects', async () => {
    const { rules, faults } = await loadRuleSet(files)

    expect(faults).toEqual([])
    expect(rules.filter(({ name, file, subject }) => file !== `${subject}/${name}.json`)).toEqual([])
    expect(rules.map(({ name }) => name).join(' ')).toBe(
      'overage-cost-forecast pool-burn-rate pool-forecast-overage pool-overage pool-top-sim pool-usage-warning ' +
        'sim-burn-rate sim-forecast-overage sim-imei-change sim-never-seen sim-overage sim-silent sim-sms-flood ' +
        'sim-usage-warning tickets-failing usage-feed-silent',
    )
  })

  test('suspend for nothing but overage', async () => {
    const { rules } = await loadRuleSet(files)
    const suspending = rules.filter(({ event }) => event.params.actions.includes('suspend'))

    expect(
      suspending.map(({ name, level, match, event }) => [name, level, match.tariffType, event.params.suspend]),
    ).toEqual([
      ['pool-overage', 2, ['Dynamic Pool', 'Fixed Pool'], { target: 'largestExcess', grace: 'PT0S', until: 'renewal' }],
      ['sim-overage', 2, 'Standard', { target: 'self', grace: 'PT0S', until: 'renewal' }],
    ])
    expect(suspending.every(({ event }) => event.params.stage === 'enforce')).toBe(true)
  })
})

describe('ruleFileSchema', () => {
  test.each([
    [RULE_SCHEMA, ruleFileSchema],
    ['shared-condition.schema.json', sharedConditionSchema],
  ])('equals %s as it is shipped', (file, schema) => {
    expect(JSON.parse(readFileSync(new URL(`../../../rules/${file}`, import.meta.url), 'utf8'))).toEqual(schema())
  })

  test.each(files.map(({ file, text }) => [file, text]))('accepts the shipped rule %s', (_, text) => {
    expect(Check(ruleFileSchema(), JSON.parse(text))).toBe(true)
  })

  test.each<[string, ReturnType<typeof aFile>]>([
    ['an unknown fact', aFile({ conditions: { all: [leaf('usagPct', 'lessThan', 1)] } })],
    ['a fact of another subject', aFile({ conditions: { all: [leaf('iccid', 'equal', '1')] } })],
    ['an unknown operator', aFile({ conditions: { all: [leaf('usagePct', 'below', 1)] } })],
    ['an empty group', aFile({ conditions: { all: [] } })],
    ['a comparison at the top', aFile({ conditions: leaf('usagePct', 'lessThan', 1) })],
    ['an unknown level', aFile({}, { level: 'Fatal' })],
    ['a ladder of an unknown fact', aLadder({ ladder: { fact: 'usagPct', steps: STEPS } })],
    ['a level beside a ladder', aLadder({}, { level: 'Info' })],
    ['neither conditions nor ladder', aFile({ conditions: undefined })],
    ['no level', aFile({}, { level: undefined })],
    ['an unknown fact in clear', aFile({}, { clear: { all: [leaf('nope', 'lessThan', 1)] } })],
  ])('refuses a rule file with %s', (_, { text }) => {
    expect(Check(ruleFileSchema(), JSON.parse(aFile().text))).toBe(true)
    expect(Check(ruleFileSchema(), JSON.parse(text))).toBe(false)
  })

  test('accepts a rule with a ladder, with or without conditions', () => {
    const beside = aLadder({ conditions: { all: [leaf('totalSimCount', 'greaterThan', 1)] } })
    for (const { text } of [aLadder(), beside]) expect(Check(ruleFileSchema(), JSON.parse(text))).toBe(true)
  })
})

describe('sharedConditionSchema', () => {
  /** With the definitions that it refers to in it, because the checker reads no other file. */
  const schema = {
    ...JSON.parse(JSON.stringify(sharedConditionSchema()).replaceAll(`${RULE_SCHEMA}#`, '#')),
    $defs: ruleFileSchema().$defs,
  }
  const shared = {
    name: 'mine',
    description: 'Some.',
    subject: 'pool',
    conditions: { all: [leaf('usagePct', 'lessThan', 1)] },
  }

  test('accepts shared conditions, and refuses facts of others', () => {
    expect(Check(schema, shared)).toBe(true)
    for (const changes of [{ subject: 'tenant' }, { conditions: { all: [] } }, { event: {} }])
      expect(Check(schema, { ...shared, ...changes }), JSON.stringify(changes)).toBe(false)
  })
})
