/** A backtest's report, of a billing cycle of six hours. */

import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { mailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import { TariffType, WatchdogMode } from '../../../domain/codes.ts'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import { MB } from '../../../domain/units.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { notePatterns } from '../../../service/alerts/rows/tag-patterns.ts'
import { backtest } from '../../../service/backtests/backtest.ts'
import { openPlayer } from '../../../service/backtests/open-player.ts'
import { replay } from '../../../service/backtests/replay.ts'
import { loudestSubjects } from '../../../service/backtests/rows/report.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { inTenant, readOnly } from '../../../store/tenancy.ts'
import { accepting } from '../../setup/accepting.ts'
import { aStore } from '../../setup/estate.ts'
import { aFile, examplesOf, leaf } from '../../unit/rules/samples.ts'
import { aHarness, evaluationOptions } from '../harness.ts'
import { connected, doneIn } from './lived.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const shipped = await readRuleFiles('')
const store = await aStore('2026-11-10T12:00:00Z')
await activateRules(store, shipped, 'the tests')
const mailer = mailChannel(accepting)
const options = { evaluation: evaluationOptions(), render: mailer.render }

/** Lives a cycle in which a SIM passes its limit, and a shared pool its own. @returns the tenant */
async function aLivedCycle(): Promise<string> {
  store.now = Date.parse('2026-11-10T12:00:00Z')
  const harness = await aHarness(store, 'PT6H')
  const meters = await harness.aPool(TariffType.Standard, 100 * MB, { name: 'meters', warningThresholdPct: 80 })
  const monitored = { name: 'vans', watchdogMode: WatchdogMode.Monitor }
  const vans = await harness.aPool(TariffType['Dynamic Pool'], 50 * MB, monitored)
  const sims = [
    ...(await harness.activeSims(3, { poolId: meters })),
    ...(await harness.activeSims(2, { poolId: vans })),
  ]
  const player = openPlayer(store, harness.tenantId, { evaluation: options.evaluation, mailer })
  await player.work()
  for (let step = 1; step <= 10; step += 1) {
    await player.moveTo(Date.parse('2026-11-10T12:00:00Z') + step * 20 * MINUTE)
    await harness.record(sims.map((simId, n) => harness.usage(simId, { bytesDown: (n + 1) * 5 * MB })))
    await player.work()
  }
  await player.moveTo(Date.parse('2026-11-10T18:00:00Z'))
  store.now += HOUR
  return harness.tenantId
}

const asked = (tenantId: string, rules: number | readonly RuleSource[] | null, cycles = 1) =>
  connected(store, (db) => backtest(db, store.clock, { tenantId, cycles, rules }, options))

test('rules did what the log says, and other rules what they would have done', async () => {
  const tenantId = await aLivedCycle()
  const others = shipped.filter(({ file }) => file !== 'sim/sim-overage.json')
  await activateRules(store, others, 'the tests')
  const report = await asked(tenantId, 1)
  expect(report.log).toMatchObject({ onlyReplay: 0, onlyLog: 0, examples: [] })
  expect(report.log.both).toBeGreaterThan(5)
  expect(report).toMatchObject({ records: 50, version: 1, undecided: { records: 0, tickets: 0, settings: 0 } })
  expect(report.rules.find(({ rule }) => rule === 'sim-overage')).toMatchObject({ fired: 1, suspended: 1 })
  expect(report.rules.find(({ rule }) => rule === 'pool-overage')).toMatchObject({ fired: 1, suspended: 0 })
  expect(report.mails).toEqual([{ recipient: 'billing@meadow.example', mails: expect.any(Number) }])

  // Without a rule, its entries are in the log alone.
  const inForce = await asked(tenantId, null)
  expect(inForce.version).toBe(2)
  expect(inForce.log.onlyLog).toBeGreaterThan(0)
  expect(inForce.log.examples.filter(({ where }) => where === 'log').map(({ key }) => key.split('/')[0])).toContain(
    'sim-overage',
  )

  // Files that are not stored. A rule in shadow is decided, and does nothing.
  const inShadow = shipped.map(({ file, text }) => ({
    file,
    text: file === 'sim/sim-overage.json' ? text.replace('"stage": "enforce"', '"stage": "shadow"') : text,
  }))
  const { rules, version } = await asked(tenantId, inShadow)
  expect(version).toBeNull()
  expect(rules.find(({ rule }) => rule === 'sim-overage')).toEqual({
    rule: 'sim-overage',
    entries: 0,
    fired: 0,
    suspended: 0,
    wouldLog: 1,
    wouldMail: 1,
    wouldSuspend: 1,
  })
}, 900_000)

test('a replay begins with the places of SIMs at its start', async () => {
  store.now = Date.parse('2026-11-10T06:00:00Z')
  const harness = await aHarness(store, 'PT6H')
  const [simId = 0] = await harness.activeSims(1)
  for (const [at, country] of [
    ['11:00', 'DE'],
    ['11:55', 'FR'],
    ['15:00', 'DE'],
  ] as const) {
    store.now = Date.parse(`2026-11-10T${at}:00Z`)
    await harness.record([harness.usage(simId, { country, mccMnc: '20801' })])
  }
  store.now = Date.parse('2026-11-10T18:30:00Z')
  const aRule = (name: string, condition: object, examples: readonly object[]): RuleSource => {
    const rule = { name, subject: 'sim', conditions: { all: [condition] }, examples }
    return { file: `sim/${name}.json`, text: aFile(rule, { message: 'SIM {{iccid}}', once: 'episode' }).text }
  }
  const places = examplesOf({ lastCountry: 'FR' }, { lastCountry: 'DE' })
  const changes = examplesOf({ countryChanged: true }, { countryChanged: false })

  const { rules } = await asked(harness.tenantId, [
    aRule('abroad', leaf('lastCountry', 'notIn', ['DE']), places),
    aRule('changed', leaf('countryChanged', 'equal', true), changes),
  ])

  expect(rules).toMatchObject([
    { rule: 'changed', fired: 2, entries: 4 },
    { rule: 'abroad', fired: 1, entries: 2 },
  ])
})

test('adds up the SIMs of tags that are tried, beside those of the tenant', async () => {
  const startsAt = Date.parse('2026-11-10T12:00:00Z')
  store.now = startsAt - HOUR
  const harness = await aHarness(store, 'PT6H')
  const [simId = 0] = await harness.activeSims(1)
  await harness.asTenant((tx) => notePatterns(tx, ['known', 'too']))
  store.now = startsAt + MINUTE
  await harness.record([harness.usage(simId, { bytesDown: 20 * MB })])
  const rule = {
    name: 'together',
    subject: 'tag',
    match: { tag: '*' },
    conditions: { all: [leaf('usageMB', 'greaterThan', 10)] },
    examples: examplesOf({ usageMB: 11 }, { usageMB: 10 }),
  }
  const { text } = aFile(rule, { message: '{{tag}} used {{usageMB}}.' })
  const rules = { version: 1, files: [{ file: 'tag/together.json', text }] }
  const { tenantId } = harness
  const question = { tenantId, billingCycle: 'PT6H', startsAt, endsAt: startsAt + 5 * MINUTE, rules }
  const [{ id: last } = { id: 0 }] = await harness.rows(sql<{ id: number }>`select max(id) as id from tag_patterns`)

  const loudest = await connected(store, async (db) => {
    await replay(db, question, options)
    return inTenant(readOnly({ ...store, db }), tenantId, (tx) => loudestSubjects(tx, 5))
  })
  expect(loudest).toEqual([{ kind: 'tag', id: last + 1, label: '*', entries: 1 }])
})

test('compares a spike with weeks before the first cycle', async () => {
  store.now = Date.parse('2026-10-20T12:00:00Z')
  const harness = await aHarness(store, 'PT6H')
  const sims = await harness.activeSims(2)
  const use = (megabytes: readonly number[]) =>
    harness.record(sims.map((simId, n) => harness.usage(simId, { bytesDown: (megabytes[n] ?? 0) * MB })))
  await use([20, 200])
  const startsAt = Date.parse('2026-11-10T12:00:00Z')
  store.now = startsAt + MINUTE
  await use([30, 30])
  const spike = {
    name: 'spike',
    subject: 'sim',
    conditions: { all: [leaf('usage24hMB', 'greaterThan', 10), leaf('usageSpikeRatio', 'greaterThan', 5)] },
    examples: examplesOf({ usage24hMB: 11, usageSpikeRatio: 6 }, { usage24hMB: 11, usageSpikeRatio: null }),
  }
  const { text } = aFile(spike, { message: 'It uses {{usageAvgDayMB}} a day.' })
  const rules = { version: 1, files: [{ file: 'sim/spike.json', text }] }
  const question = { tenantId: harness.tenantId, billingCycle: 'PT6H', startsAt, endsAt: startsAt + 5 * MINUTE, rules }

  const { entries } = await connected(store, async (db) => {
    await replay(db, question, options)
    return doneIn(db, harness.tenantId)
  })
  expect(entries).toMatchObject([{ rule: 'spike', sim_id: sims[0], message: 'It uses 1 MB a day.' }])
})

test('refuses what it cannot answer', async () => {
  const { tenantId } = await aHarness(store, 'PT6H')
  await expect(asked(tenantId, null, 4)).rejects.toThrow('cycles: got 4, expected 1 to 3')
  await expect(asked(tenantId, 99)).rejects.toMatchObject({ code: 'rules_version_not_found' })
  await expect(asked(tenantId, [{ file: 'sim/x.json', text: '{' }])).rejects.toMatchObject({ code: 'rules_rejected' })
})
