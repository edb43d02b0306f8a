import { describe, expect, test } from 'vitest'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import { loadRuleSet } from '../../../rules/load/load-rule-set.ts'
import { aFile, examplesOf, leaf, params, suspending } from './samples.ts'

const faultsOf = async (...files: RuleSource[]) => (await loadRuleSet(files)).faults
const pointersOf = async (file: RuleSource) => (await faultsOf(file)).map(({ pointer }) => pointer)
const withConditions = (conditions: unknown) => faultsOf(aFile({ conditions }))
const all = (...members: unknown[]) => ({ all: members })
const known = (fact: string) => leaf(fact, 'known', true)
const sim = (changed: object = {}) => aFile({ subject: 'sim' }, { message: 'SIM {{iccid}}', ...changed })

describe('loadRuleSet', () => {
  test('returns rules by name, with defaults filled in', async () => {
    const { rules, faults } = await loadRuleSet([
      aFile({ name: 'b' }),
      aFile({ name: 'a' }, { for: '5%', level: 'Critical' }),
    ])

    expect(faults).toEqual([])
    expect(rules).toMatchObject([
      { name: 'a', file: 'pool/a.json', level: 2, for: { cyclePct: 5 }, clear: null, match: {}, cycleBound: true },
      { name: 'b', level: 1, for: { ms: 0 }, resolve: 'log' },
    ])
  })

  test('returns every fault and no rule', async () => {
    const { rules, faults } = await loadRuleSet([
      aFile({ name: 'good' }),
      aFile({ name: 'one', subject: 'pol', extra: 1 }),
      aFile({ name: 'two', conditions: all(leaf('usagPct', 'greaterThen', 80), leaf('usagePct', 'lessThan', '90')) }),
      { file: 'pool/three.json', text: '{"name": ' },
    ])

    expect(rules).toEqual([])
    expect(faults.map(({ file, pointer, hint }) => [file, pointer, hint])).toEqual([
      ['pool/three.json', '', undefined],
      ['pool/one.json', '/extra', undefined],
      ['pool/one.json', '/subject', 'did you mean pool?'],
      ['pool/two.json', '/conditions/all/0/fact', 'did you mean usagePct?'],
      ['pool/two.json', '/conditions/all/0/operator', 'did you mean greaterThan?'],
      ['pool/two.json', '/conditions/all/1/value', undefined],
    ])
  })

  test.each([
    ['U+0000', 'a\u0000b', '"a\\u0000b"'],
    ['half a surrogate pair', 'a\ud83db', '"a\\ud83db"'],
  ])('refuses %s in every text', async (_, text, got) => {
    const faults = await faultsOf(
      aFile(
        {
          name: 'one',
          description: text,
          subject: 'sim',
          match: { tag: text },
          conditions: all(leaf('tag', 'equal', text), { any: [leaf('tag', 'in', ['x', text])] }),
        },
        { message: text, resolvedMessage: text },
      ),
      { file: 'sim/conditions/two.json', text: JSON.stringify({ conditions: { [text]: 1 } }) },
    )

    const aboutNul = faults.filter(({ expected }) => expected.includes('U+0000'))
    expect(aboutNul.map(({ file, pointer }) => [file, pointer])).toEqual([
      ['pool/one.json', '/description'],
      ['pool/one.json', '/conditions/all/0/value'],
      ['pool/one.json', '/conditions/all/1/any/0/value/1'],
      ['pool/one.json', '/event/params/message'],
      ['pool/one.json', '/event/params/resolvedMessage'],
      ['pool/one.json', '/match/tag'],
      ['sim/conditions/two.json', '/conditions'],
    ])
    expect(new Set(aboutNul.map((fault) => fault.got))).toEqual(new Set([got]))
  })

  test('says what it got and what it expected', async () => {
    expect(await faultsOf(aFile({}, { level: 'critical' }))).toEqual([
      {
        file: 'pool/some-rule.json',
        pointer: '/event/params/level',
        at: { line: 1, column: expect.any(Number) },
        got: '"critical"',
        expected: 'Info, Warning or Critical',
        hint: 'did you mean Critical?',
      },
    ])
  })

  test('reports more than eight faults of a file', async () => {
    const wrong = { name: 1, description: '', subject: 'x', conditions: 1, event: {}, examples: [] }
    const text = JSON.stringify({ ...wrong, a: 1, b: 2, c: 3, d: 4 })

    const places = '/a /b /c /d /description /event/params /event/type /examples /name /subject'
    expect((await pointersOf({ file: 'sim/many.json', text })).toSorted()).toEqual(places.split(' '))
  })

  test('requires unique names that match the file', async () => {
    const misnamed = { ...aFile({ name: 'one' }), file: 'pool/two.json' }
    expect(await faultsOf(misnamed, { ...aFile({ name: 'one' }), file: 'sim/one.json' })).toMatchObject([
      { file: 'pool/two.json', pointer: '/name', expected: '"two", the name of the file' },
      { file: 'sim/one.json', pointer: '/name', expected: 'a name of its own: pool/two.json has this one' },
    ])
  })

  test('refuses a large file and too many files', async () => {
    const large = { file: 'pool/large.json', text: ' '.repeat(70_000) }
    const many = Array.from({ length: 501 }, (_, n) => aFile({ name: `rule-${n}` }))

    expect(await faultsOf(large)).toMatchObject([{ file: 'pool/large.json', expected: 'at most 65536 characters' }])
    expect(await faultsOf(...many)).toMatchObject([{ expected: 'at most 500 rule files' }])
  })
})

describe('the conditions of a rule file', () => {
  const COMPARED = leaf('usagePct', 'equal', 1)
  const nameIn = (value: unknown) => leaf('poolName', 'in', value)
  test.each<[string, unknown, string]>([
    ['an empty all', all(), '/all'],
    ['an empty any', { any: [] }, '/any'],
    ['a comparison at the top', COMPARED, ''],
    ['two kinds in one node', { ...all(known('usagePct')), any: [known('usagePct')] }, ''],
    ['a node of no kind', all({ operator: 'equal', value: 1 }), '/all/0'],
    ['a list as not', { not: [known('usagePct')] }, '/not'],
    ['null as a condition', all(null), '/all/0'],
    ['JSONPath', all({ ...COMPARED, path: '$.a' }), '/all/0/path'],
    ['params', all({ ...COMPARED, params: {} }), '/all/0/params'],
    ['priority 0', all({ ...COMPARED, priority: 0 }), '/all/0/priority'],
    ['a priority in text', { ...all(known('usagePct')), priority: '2' }, '/priority'],
    ['null as operand', all(leaf('usagePct', 'equal', null)), '/all/0/value'],
    ['no operand', all({ fact: 'usagePct', operator: 'equal' }), '/all/0/value'],
    ['text for a number', all(leaf('usagePct', 'equal', '1')), '/all/0/value'],
    ['a duration for a share', all(leaf('usagePct', 'equal', 'P1D')), '/all/0/value'],
    ['a month as a duration', all(leaf('cycleHours', 'equal', 'P1M')), '/all/0/value'],
    ['a number for text', all(leaf('poolName', 'equal', 1)), '/all/0/value'],
    ['order of text', all(leaf('poolName', 'lessThan', 'b')), '/all/0/value'],
    ['an unknown code', all(leaf('watchdogMode', 'equal', 7)), '/all/0/value'],
    ['an unknown type of tariff', all(leaf('tariffType', 'equal', 'Fixed')), '/all/0/value'],
    ['an empty list', all(leaf('usagePct', 'in', [])), '/all/0/value'],
    ['text as a list', all(nameIn('abc')), '/all/0/value'],
    ['a list with a wrong item', all(nameIn(['a', 1])), '/all/0/value/1'],
    ['a reference as a list', all(nameIn({ fact: 'poolName' })), '/all/0/value'],
    ['another unit', all(leaf('usageMB', 'lessThan', { fact: 'usagePct' })), '/all/0/value/fact'],
    ['another type', all(leaf('poolName', 'equal', { fact: 'poolId' })), '/all/0/value/fact'],
    ['a path in a reference', all(leaf('usageMB', 'equal', { fact: 'limitMB', path: '$' })), '/all/0/value/path'],
    ['an unknown reference', all(leaf('usageMB', 'equal', { fact: 'nope' })), '/all/0/value/fact'],
    ['known with a number', all(leaf('usagePct', 'known', 1)), '/all/0/value'],
    ['contains', all(leaf('poolName', 'contains', 'a')), '/all/0/operator'],
    ['the decorator swap', all(leaf('usagePct', 'swap:lessThan', 1)), '/all/0/operator'],
    ['not twice', all(known('usagePct'), leaf('usagePct', 'not:not:lessThan', 1)), '/all/1/operator'],
    ['a fact of SIMs', all(leaf('iccid', 'equal', '1')), '/all/0/fact'],
    ['a property of objects', all(leaf('constructor', 'equal', '1')), '/all/0/fact'],
  ])('are refused with %s', async (_, conditions, pointer) => {
    expect(await pointersOf(aFile({ conditions }))).toContain(`/conditions${pointer}`)
  })

  test.each([
    ['suspendedBy', 'user', 'one of person, watchdog, notActivated'],
    ['lastCountry', 'Germany', 'two capital letters such as DE'],
    ['lastMccMnc', '262-01', '5 or 6 digits such as 26201'],
  ])('are refused with a %s that no SIM has, and so are examples', async (fact, value, form) => {
    const examples = examplesOf({ [fact]: value }, { [fact]: null })
    const { file, text } = aFile({ subject: 'sim', conditions: all(leaf(fact, 'in', [value])), examples })

    expect(await faultsOf({ file: file.replace('pool/', 'sim/'), text })).toMatchObject([
      { pointer: '/conditions/all/0/value/0', got: `"${value}"`, expected: `${form}, as ${fact} is, or {"fact": …}` },
    ])
    const known = aFile({ subject: 'sim', conditions: all(leaf(fact, 'known', true)), examples })
    expect(await faultsOf({ file: known.file.replace('pool/', 'sim/'), text: known.text })).toMatchObject([
      { pointer: `/examples/0/facts/${fact}`, expected: `${form}, or null` },
    ])
  })

  test.each<[string, unknown, unknown]>([
    ['hours', leaf('hoursUntilRenewal', 'lessThan', 'P2D'), 48],
    ['minutes', leaf('usageAgeMinutes', 'greaterThan', 'PT90S'), 1.5],
    ['days', leaf('daysUntilRenewal', 'in', ['P1W', 2]), [7, 2]],
  ])('have durations in %s', async (_, condition, value) => {
    const conditions = all(known('usageAgeMinutes'), leaf('usagePct', 'greaterThan', 1), condition)
    const facts = { usageAgeMinutes: 2, usagePct: 2, hoursUntilRenewal: 47, daysUntilRenewal: 7 }
    const examples = examplesOf(facts, { ...facts, usagePct: 1 })

    const { faults, rules } = await loadRuleSet([aFile({ conditions, examples })])

    expect(faults).toEqual([])
    expect(rules[0]?.conditions).toMatchObject({ all: [{}, {}, { value }] })
  })

  test('are refused beyond their limits', async () => {
    const deep = Array.from({ length: 9 }).reduce<unknown>((inner) => all(inner), known('usagePct'))
    const wide = all(...Array.from({ length: 201 }, () => known('usagePct')))
    const numbers = Array.from({ length: 1001 }, (_, n) => n)

    expect(await withConditions(deep)).toMatchObject([{ expected: 'conditions nested at most 8 deep' }])
    expect(await withConditions(wide)).toMatchObject([{ expected: 'at most 200 conditions in a rule' }])
    expect(await withConditions(all(leaf('usagePct', 'in', numbers)))).toMatchObject([
      { pointer: '/conditions/all/0/value' },
    ])
  })

  test('get a hint for a fact of another subject', async () => {
    const [fault] = await withConditions(all(leaf('iccid', 'equal', '1')))

    expect(fault).toMatchObject({ hint: 'iccid is a fact of sim' })
  })
})

describe('a negation over a nullable fact', () => {
  const guard = known('usagePct')
  const [below, notBelow] = [leaf('usagePct', 'lessThan', 80), leaf('usagePct', 'not:lessThan', 80)]
  const above = leaf('usagePct', 'greaterThan', 79)

  test.each<[string, unknown]>([
    ['without a guard', all(notBelow)],
    ['in a not', { not: below }],
    ['with the guard inside the not', { not: all(guard, below) }],
    ['with the guard in an any', { any: [guard, notBelow] }],
    ['with a guard that says unknown', all(leaf('usagePct', 'known', false), notBelow)],
    ['with a guard of another fact', all(known('forecastPct'), { not: below })],
    ['in a double not', { not: { not: below } }],
    ['over the operand', all(guard, leaf('usagePct', 'not:lessThan', { fact: 'warningThresholdPct' }))],
  ])('is refused %s', async (_, conditions) => {
    expect(await withConditions(conditions)).toMatchObject([
      { hint: expect.stringContaining('"operator": "known", "value": true') },
    ])
  })

  test.each<[string, unknown]>([
    ['beside a guard', all(guard, notBelow)],
    ['below a guard', all(guard, { any: [{ not: below }] })],
    ['where the fact is never null', all(above, { not: leaf('usageMB', 'lessThan', 0) })],
    ['over known itself', all(above, { not: leaf('forecastPct', 'known', false) })],
  ])('is accepted %s', async (_, conditions) => {
    const facts = { usageMB: 1, forecastPct: 1 }
    const examples = examplesOf({ ...facts, usagePct: 80 }, { ...facts, usagePct: 79 })

    expect(await faultsOf(aFile({ conditions, examples }))).toEqual([])
  })
})

describe('the event of a rule file', () => {
  /** A rule about pools with other params. */
  const its = (changed: object) => aFile({}, { ...changed })
  test.each<[string, RuleSource, string]>([
    ['a placeholder that is no fact', its({ message: '{{usagePc}}' }), '/event/params/message'],
    ['a placeholder of another subject', its({ resolvedMessage: '{{iccid}}' }), '/event/params/resolvedMessage'],
    ['a placeholder without an end', its({ message: '{{usagePct}} of {{usageMB' }), '/event/params/message'],
    ['a placeholder without a beginning', its({ message: 'usageMB}} used' }), '/event/params/message'],
    ['a placeholder in single braces', its({ resolvedMessage: '{usageMB}' }), '/event/params/resolvedMessage'],
    ['a placeholder in three braces', its({ message: '{{{usageMB}}}' }), '/event/params/message'],
    ['an empty placeholder', its({ message: '{{ }}' }), '/event/params/message'],
    ['email without log', its({ actions: ['email'] }), '/event/params/actions'],
    ['an action twice', its({ actions: ['log', 'log'] }), '/event/params/actions'],
    ['an unknown action', its({ actions: ['log', 'mail'] }), '/event/params/actions/1'],
    ['suspend without a target', its({ actions: ['log', 'suspend'] }), '/event/params/suspend'],
    ['a target without suspend', its({ ...suspending('all'), actions: ['log'] }), '/event/params/suspend'],
    ['enforce without suspend', its({ stage: 'enforce' }), '/event/params/stage'],
    ['a grace in months', its(suspending('all', 'manual', { grace: 'P1M' })), '/event/params/suspend/grace'],
    ['self for a pool', its(suspending('self')), '/event/params/suspend/target'],
    ['largestExcess for a SIM', sim(suspending('largestExcess')), '/event/params/suspend/target'],
    ['an occurrence without its fact', its({ once: 'occurrence' }), '/event/params/occurrence'],
    ['a measure as occurrence', its({ once: 'occurrence', occurrence: 'usagePct' }), '/event/params/occurrence'],
    ['an occurrence of a cycle', its({ occurrence: 'poolName' }), '/event/params/occurrence'],
    ['a for without a unit', its({ for: '5' }), '/event/params/for'],
    ['mail for the resolve only', its({ actions: ['log'], resolve: 'email' }), '/event/params/resolve'],
    ['a clear of an unknown fact', its({ clear: all(leaf('nope', 'equal', 1)) }), '/event/params/clear/all/0/fact'],
    ['the engine’s own event type', aFile({ event: { type: 'error', params } }), '/event/type'],
    ['a tag of pools', aFile({ match: { tag: 'x' } }), '/match/tag'],
    ['an unknown tariff type', aFile({ match: { tariffType: ['Dynamic'] } }), '/match/tariffType'],
  ])('is refused with %s', async (_, file, pointer) => {
    expect(await pointersOf(file)).toEqual([pointer])
  })
})

describe('a rule about a tag', () => {
  const tagged = (match: unknown, changed: object = {}, name = 'cameras') =>
    aFile(
      {
        name,
        subject: 'tag',
        match,
        conditions: all(leaf('usageMB', 'greaterThan', 100)),
        examples: examplesOf({ usageMB: 101 }, { usageMB: 100 }),
      },
      { message: '{{tag}}: {{usageMB}} of {{simCount}} SIMs', ...changed },
    )

  test('is taken with a pattern', async () => {
    expect(await loadRuleSet([tagged({ tag: 'camera-*' })])).toMatchObject({ faults: [], rules: [{ subject: 'tag' }] })
  })

  test.each<[string, RuleSource, object]>([
    ['no match', tagged(undefined), { pointer: '/match/tag', expected: expect.stringContaining('such as camera-*') }],
    ['no tag', tagged({}), { pointer: '/match/tag' }],
    [
      'a pool',
      tagged({ tag: 'a', pool: 'b' }),
      { pointer: '/match/pool', expected: 'for the subject tag only tenant, tag' },
    ],
    [
      'a suspension',
      tagged({ tag: 'a' }, { ...suspending('all'), stage: 'enforce' }),
      {
        pointer: '/event/params/suspend/target',
        expected: 'no suspension: a tag is not suspended (subject tag)',
      },
    ],
  ])('is refused with %s', async (_, file, fault) => {
    expect((await loadRuleSet([file])).faults).toMatchObject([fault])
  })

  test('is refused beyond 50 patterns for the same tenants; several rules may have one', async () => {
    const many = Array.from({ length: 51 }, (_, n) => tagged({ tag: `t${Math.min(n, 49)}` }, {}, `rule-${n}`))
    const more = tagged({ tag: 'one-more' }, {}, 'too-many')
    const other = tagged({ tag: 'one-more', tenant: 't1' }, {}, 'other')
    expect((await loadRuleSet([...many, other])).faults).toEqual([])
    expect((await loadRuleSet([...many, more])).faults).toMatchObject([{ pointer: '/match/tag', got: '"one-more"' }])
  })
})

describe('the statuses of a match', () => {
  const STOCK = ['Unprovisioned']
  const inStatus = (status: unknown, conditions: unknown, facts: readonly [object, object], match = {}, changed = {}) =>
    aFile(
      { subject: 'sim', match: { status, ...match }, conditions, examples: examplesOf(...facts) },
      { message: 'SIM {{iccid}}', ...changed },
    )
  const aged = (status: unknown, match = {}, changed = {}) =>
    inStatus(
      status,
      all(leaf('statusAgeHours', 'greaterThan', 'P90D')),
      [{ statusAgeHours: 2161 }, { statusAgeHours: 2160 }],
      match,
      changed,
    )
  const compared = (status: unknown, operator: string, value: unknown, fires: number, rests: number) =>
    inStatus(status, all(leaf('status', operator, value)), [{ status: fires }, { status: rests }])
  const toSuspend = { ...suspending('self'), stage: 'enforce' }

  test.each<[string, RuleSource, object]>([
    ['text', aged('Unprovisioned'), { pointer: '/match/status', got: '"Unprovisioned"' }],
    ['another word', aged(['Stock']), { pointer: '/match/status/0', expected: 'Unprovisioned, Active or Suspended' }],
    ['none', aged([]), { pointer: '/match/status' }],
    ['one twice', aged(['Active', 'Active']), { pointer: '/match/status' }],
    [
      'a pool, which no such SIM has',
      aged(STOCK, { pool: 'a' }),
      { pointer: '/match/pool', expected: expect.stringContaining('an Unprovisioned SIM') },
    ],
    ['a tariff, which no such SIM has', aged(STOCK, { tariffType: 'Standard' }), { pointer: '/match/tariffType' }],
    [
      'a suspension of what is in stock',
      aged(['Active', 'Suspended', 'Unprovisioned'], {}, toSuspend),
      { pointer: '/match/status', expected: 'no Unprovisioned: the rule suspends, and there is nothing to suspend' },
    ],
    [
      'a suspension that would end its own alert',
      aged(['Active'], {}, toSuspend),
      { pointer: '/match/status', hint: 'leave match.status out' },
    ],
    [
      'a comparison with one left out',
      compared(undefined, 'equal', 0, 0, 1),
      {
        pointer: '/conditions/all/0/value',
        expected: 'a code of status: 1 (Active), 2 (Suspended)',
        hint: 'the rule sees no Unprovisioned SIM unless match.status names Unprovisioned',
      },
    ],
    [
      'a list with one left out',
      compared(STOCK, 'in', [0, 2], 0, 1),
      { pointer: '/conditions/all/0/value/1', expected: 'a code of status: 0 (Unprovisioned)' },
    ],
  ])('are refused with %s', async (_, file, fault) => {
    expect(await faultsOf(file)).toMatchObject([fault])
  })

  test.each<[string, RuleSource]>([
    ['stock', aged(STOCK)],
    ['a comparison with it', compared(['Unprovisioned', 'Suspended'], 'equal', 0, 0, 2)],
    ['a suspension of provisioned SIMs', aged(['Suspended', 'Active'], {}, toSuspend)],
  ])('are accepted with %s', async (_, file) => {
    expect(await faultsOf(file)).toEqual([])
  })

  test('are refused of pools', async () => {
    expect(await pointersOf(aFile({ match: { status: STOCK } }))).toEqual(['/match/status'])
  })
})

test('braces that form no placeholder are a fault with their place', async () => {
  const [fault] = await faultsOf(sim({ message: 'SIM {{iccid}} has used {{usageMB' }))

  expect(fault).toMatchObject({
    pointer: '/event/params/message',
    at: { line: 1, column: expect.any(Number) },
    got: '"{{usageMB"',
    expected: 'braces only around the name of a fact: {{fact}}',
    hint: 'from character 24 of the text',
  })
})

describe('the examples of a rule file', () => {
  const [fires, not] = examplesOf({ usagePct: 80 }, { usagePct: 79 })
  const but = (facts: object) => [fires, { fires: false, facts }]

  test.each<[string, unknown[], string]>([
    ['none that fires', [not, not], '/examples'],
    ['none that does not fire', [fires, fires], '/examples'],
    ['one that has the wrong outcome', but({ usagePct: 81 }), '/examples/1/fires'],
    ['one that lacks a fact', but({}), '/examples/1/facts/usagePct'],
    ['an unknown fact', but({ usagePct: 1, usagPct: 1 }), '/examples/1/facts/usagPct'],
    ['null for a fact that is never null', but({ usagePct: 1, usageMB: null }), '/examples/1/facts/usageMB'],
    ['text for a number', but({ usagePct: '1' }), '/examples/1/facts/usagePct'],
  ])('are refused with %s', async (_, examples, pointer) => {
    expect(await pointersOf(aFile({ examples }))).toContain(pointer)
  })

  test('report an unknown field only once', async () => {
    const faults = await faultsOf(aFile({ examples: [fires, { ...not, fire: true }] }))

    expect(faults.map(({ pointer, hint }) => [pointer, hint])).toEqual([['/examples/1/fire', 'did you mean fires?']])
  })

  test('show the comparisons behind a wrong outcome', async () => {
    expect(await faultsOf(aFile({ examples: [not, ...but({ usagePct: 81 })] }))).toMatchObject([
      { got: 'false', expected: 'true, which is what the conditions say: usagePct 81 greaterThanInclusive 80' },
    ])
  })
})

describe('shared conditions', () => {
  const shared = (name: string, conditions: unknown, subject = 'pool') => ({
    file: `conditions/${name}.json`,
    text: JSON.stringify({ name, description: 'Shared.', subject, conditions }),
  })
  const HIGH = leaf('usagePct', 'greaterThanInclusive', 80)
  const high = shared('high', { any: [HIGH], priority: 9 })

  test('do not keep their own priority', async () => {
    const { rules } = await loadRuleSet([aFile({ conditions: { condition: 'high' } }), high])

    expect(rules.map(({ conditions }) => conditions)).toEqual([{ any: [HIGH] }])
  })

  test('replace the reference and take its priority', async () => {
    const { rules, faults } = await loadRuleSet([aFile({ conditions: { condition: 'high', priority: 3 } }), high])

    expect(faults).toEqual([])
    expect(rules.map(({ conditions }) => conditions)).toEqual([{ any: [HIGH], priority: 3 }])
  })

  const named = (condition: string) => ({ condition })
  const unknown = { pointer: '/conditions/condition', hint: 'did you mean high?' }
  const [a, b] = [shared('a', all(named('b'), named('b'))), shared('b', { any: [named('a')] })]
  const ofSims = shared('s', all(known('silentPct')), 'sim')
  const wrong = { file: 'conditions/x.json', pointer: '/conditions/all' }
  test.each<[string, RuleSource[], object]>([
    ['they do not exist', [aFile({ conditions: named('hihg') }), high], { file: 'pool/some-rule.json', ...unknown }],
    ['they refer to themselves', [a, b], { file: 'conditions/b.json', pointer: '/conditions/any/0/condition' }],
    ['they are about SIMs', [aFile({ conditions: named('s') }), ofSims], { pointer: '/conditions/condition' }],
    ['they are wrong, even if unused', [aFile(), shared('x', all())], wrong],
  ])('are refused if %s', async (_, files, fault) => {
    expect(await faultsOf(...files)).toContainEqual(expect.objectContaining(fault))
  })
})
