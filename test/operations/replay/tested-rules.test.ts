/** A rule goes to `enforce` without a new file only if a backtest has tested it as it decides. */
import { beforeEach, describe, expect, test } from 'vitest'
import { askBacktest, checkQuestion } from '../../../operations/replay/ask-backtest.ts'
import { activateRules } from '../../../operations/watchdog/rules-in-force.ts'
import { type StageChange, setStage } from '../../../operations/watchdog/set-stage.ts'
import { pageOfAudit } from '../../../store/audit.ts'
import { deleteBacktest, pageOfBacktests } from '../../../store/replay/backtests.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { type Edit, inStage, only } from '../watchdog/alert-world.ts'
import { aPastCycle, doNext } from './past-cycle.ts'

const LONG = 120_000
const DAY = 86_400_000
const RULE = 'sim-overage'
const store = await aStore('2026-11-10T12:00:00Z')
const tenantId = await aPastCycle(store)
const { now } = store

/** The rule in stage `log`, edited. */
const inLog = (edit: Edit = () => undefined) =>
  only({
    [RULE]: (rule) => {
      inStage('log')(rule)
      edit(rule)
    },
  })
const load = (files = inLog()) => activateRules(store, files, 'the tests')
const set = (wish: Omit<StageChange, 'author'>) => setStage(store, RULE, { author: 'Ann', ...wish })
const promoted = () => set({ stage: 'enforce' })
const untested = {
  code: 'rule_untested',
  message: `No backtest of the last 30 days has tested ${RULE} as it decides now: backtest it first, or say that it is untested.`,
}

async function asked(files?: ReturnType<typeof only>): Promise<number> {
  const question = { tenantId, cycles: 1, files }
  const checked = await checkQuestion(question)
  return (await inPlatform(store, (tx) => askBacktest(tx, question, checked))).id
}

async function backtested(files?: ReturnType<typeof only>): Promise<void> {
  await asked(files)
  await doNext(store)
}

beforeEach(async () => {
  store.now = now
  await inPlatform(store, async (tx) => {
    for (const { id } of (await pageOfBacktests(tx, {})).data) await deleteBacktest(tx, id)
  })
  await load()
  await set({ stage: 'log' })
})

test('refuses a rule that was not backtested', async () => {
  await expect(promoted()).rejects.toMatchObject(untested)
})

test('lets every other stage be set', async () => {
  for (const stage of ['off', 'notify', 'shadow', 'log'] as const)
    expect(await set({ stage })).toMatchObject({ changed: true })
})

describe('a backtest that is done', { timeout: LONG }, () => {
  test('lets the rule go', async () => {
    await backtested()
    expect(await promoted()).toEqual({ rule: RULE, stage: 'enforce', changed: true })
  })

  test('counts for files that are put in force later', async () => {
    await backtested(inLog((rule) => (rule.event.params.for = 'PT1H')))
    await expect(promoted()).rejects.toMatchObject(untested)
    await load(inLog((rule) => (rule.event.params.for = 'PT1H')))
    expect(await promoted()).toMatchObject({ changed: true })
  })

  test('counts after an edit of words, and not after one of what the rule decides', async () => {
    await backtested()
    await load(inLog((rule) => (rule.event.params.message = 'SIM {{iccid}} is {{overageMB}} MB over.')))
    expect(await promoted()).toMatchObject({ changed: true })
    await set({ stage: 'log' })
    await load(inLog((rule) => (rule.event.params.level = 'Warning')))
    await expect(promoted()).rejects.toMatchObject(untested)
  })

  test('counts for 30 days', async () => {
    await backtested()
    store.now += 30 * DAY + 1
    await expect(promoted()).rejects.toMatchObject(untested)
    store.now -= 1
    expect(await promoted()).toMatchObject({ changed: true })
  })

  test('says nothing of a rule that was off', async () => {
    await set({ stage: 'off' })
    await backtested()
    await expect(promoted()).rejects.toMatchObject(untested)
  })
})

test('a backtest that waits or has failed says nothing', { timeout: LONG }, async () => {
  const id = await asked()
  await expect(promoted()).rejects.toMatchObject(untested)
  const failing = doNext(store, {
    onInstant: () => Promise.reject(new Error('no')),
    onTrouble: () => undefined,
  })
  await failing
  expect((await inPlatform(store, (tx) => pageOfBacktests(tx, {}))).data).toMatchObject([{ id, state: 'failed' }])
  await expect(promoted()).rejects.toMatchObject(untested)
})

test('a rule whose file says enforce may go back there', async () => {
  await load(only({ [RULE]: inStage('enforce') }))
  await set({ stage: 'log' })
  expect(await promoted()).toMatchObject({ changed: true })
})

describe('whoever says that it is untested', () => {
  const caller = { actor: 'key:ann', keyId: 'ann', requestId: 'r1', workflowId: null, action: 'setRuleStage' }
  const said = async () => (await inPlatform(store, (tx) => pageOfAudit(tx, {}))).data[0]?.after

  test('promotes it, and the audit trail says so', async () => {
    const done = await setStage({ ...store, caller }, RULE, { stage: 'enforce', author: 'Ann', untested: true })
    expect(done).toMatchObject({ changed: true })
    expect(await said()).toEqual({ stage: 'enforce', author: 'Ann', untested: true })
  })

  test('is not noted for what was tested', { timeout: LONG }, async () => {
    await backtested()
    await setStage({ ...store, caller }, RULE, { stage: 'enforce', author: 'Ann', untested: true })
    expect(await said()).toEqual({ stage: 'enforce', author: 'Ann' })
  })
})
