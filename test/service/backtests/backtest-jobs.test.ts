/** Backtests that a worker does: one at a time, anew after a worker that died, and without a change of any other row. */
import { pino } from 'pino'
import { afterEach, expect, test } from 'vitest'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { askBacktest, type BacktestQuestion, checkQuestion } from '../../../service/backtests/ask-backtest.ts'
import { backtest } from '../../../service/backtests/backtest.ts'
import {
  backendOf,
  deleteBacktest,
  endBackend,
  findBacktest,
  forgetBacktests,
  releaseBacktestLock,
  tryBacktestLock,
} from '../../../service/backtests/rows/backtests.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { connect } from '../../../store/connect.ts'
import { type Db, inPlatform } from '../../../store/tenancy.ts'
import { startBacktests } from '../../../worker/start-backtests.ts'
import { aStore } from '../../setup/estate.ts'
import { loginOfProcesses } from '../../setup/login.ts'
import { until } from '../../setup/soon.ts'
import { everythingIn } from '../everything.ts'
import { connected, replayOptions } from './lived.ts'
import { aPastCycle, doNext as doNextOf } from './past-cycle.ts'

/** Longest wait for a backtest, in seconds. */
const WAITS_S = 240
const store = await aStore('2026-11-10T12:00:00Z')
/** A rule whose answer time alone does not change: others are read again 720 times a cycle. */
const rules = (await readRuleFiles('')).filter(({ file }) => file === 'sim/sim-overage.json')
await activateRules(store, rules, 'the tests')
const options = replayOptions()
const tenantId = await aPastCycle(store)

const asked = async (more: Partial<BacktestQuestion> = {}) => {
  const question = { tenantId, cycles: 1, ...more }
  const checked = await checkQuestion(question)
  return (await inPlatform(store, (tx) => askBacktest(tx, question, checked))).id
}
const found = (id: number) => inPlatform(store, (tx) => findBacktest(tx, id))
let troubles: unknown[] = []
afterEach(async () => {
  troubles = []
  await inPlatform(store, async (tx) => {
    for (let id = 1; id < 20; id += 1) await deleteBacktest(tx, id)
  })
})

/** Waits until no session has the lock: one that was ended drops its temporary tables first. */
const unlocked = () =>
  until('the lock', () =>
    connected(store, async (db) => {
      const isFree = await tryBacktestLock(db)
      // The session may outlast its connection a little.
      if (isFree) await releaseBacktestLock(db)
      return isFree
    }),
  )

const doNext = (onInstant?: (own: Db) => unknown, signal?: AbortSignal) =>
  doNextOf(store, {
    ...(onInstant && { onInstant }),
    ...(signal && { signal }),
    onTrouble: (_id, error) => troubles.push(error),
  })

test('is done as asked, and changes no other row', async () => {
  const [first, second] = [await asked(), await asked()]
  const { backtests: _before, ...before } = await everythingIn(store.databaseUrl)
  const seen: unknown[] = []
  expect(
    await doNext(async () => {
      const one = await found(first)
      seen.push([one?.state, one?.recordsDone, one?.records])
    }),
  ).toBe(true)
  const { backtests: _after, ...after } = await everythingIn(store.databaseUrl)
  expect(after).toEqual(before)
  expect(seen).toEqual([
    ['running', 0, null],
    ['running', 1, 3],
    ['running', 2, 3],
  ])
  const done = await found(first)
  expect(done).toMatchObject({ state: 'done', records: 3, recordsDone: 3, failure: null })
  expect((await found(second))?.state).toBe('queued')

  const again = await connected(store, (db) =>
    backtest(db, store.clock, { tenantId, cycles: 1, rules: done?.version ?? null }, options),
  )
  expect(done?.report).toEqual(JSON.parse(JSON.stringify(again)))
  expect(again.rules.map(({ rule }) => rule)).toContain('sim-overage')
  expect(troubles).toEqual([])
})

test('starts anew where its connection ends, three times', async () => {
  const id = await asked()
  const broken = async (own: Db) => endBackend(store.db, await backendOf(own))
  for (const starts of [1, 2, 3]) {
    expect(await doNext(broken)).toBe(false)
    expect([await found(id), troubles.length]).toMatchObject([{ state: 'running', failure: null }, starts])
    await unlocked()
  }
  expect(await doNext()).toBe(true)
  expect(await found(id)).toMatchObject({
    state: 'failed',
    failure: 'It was begun 3 times, and each time its worker or its connection ended first.',
  })
  expect(await doNext()).toBe(false)
})

test('goes back to the queue when its worker stops', async () => {
  const id = await asked()
  for (let stops = 0; stops < 4; stops += 1) {
    const stopping = new AbortController()
    expect(await doNext(() => stopping.abort(), stopping.signal)).toBe(false)
    expect(stopping.signal.aborted).toBe(true)
    expect(await found(id)).toMatchObject({ state: 'queued', startedAt: null })
  }
  expect(troubles).toEqual([])
})

test('is left at once when it is removed', async () => {
  const id = await asked()
  let instants = 0
  const remove = async () => {
    instants += 1
    await inPlatform(store, (tx) => deleteBacktest(tx, id))
  }
  expect(await doNext(remove)).toBe(true)
  expect([instants, await found(id), troubles]).toEqual([1, undefined, []])
})

test('waits while another process does one', async () => {
  const id = await asked()
  await connected(store, async (other) => {
    await tryBacktestLock(other)
    expect(await doNext()).toBe(false)
  })
  expect((await found(id))?.state).toBe('queued')
})

test('says in words why it failed', async () => {
  const id = await asked()
  expect(
    await doNext(() => {
      throw new Error('a fault')
    }),
  ).toBe(true)
  expect(await found(id)).toMatchObject({ state: 'failed', failure: 'The service failed: a fault', report: null })
  expect(troubles).toHaveLength(1)
})

test('a worker does what waits, and stops in the middle of a statement', async () => {
  const login = await loginOfProcesses(store.databaseUrl)
  const own = connect(login.url)
  const start = () =>
    startBacktests({
      store: { ...store, db: own.db },
      databaseUrl: login.url,
      options,
      everyMs: 100,
      log: pino({ level: 'silent' }),
    })
  try {
    const [first, second] = [await asked(), await asked()]
    const worker = start()
    await until('the first', async () => (await found(first))?.state === 'done', WAITS_S)
    await until('the second', async () => (await found(second))?.state === 'running', WAITS_S)
    await worker.stop()
    expect((await found(second))?.state).toBe('queued')
    await unlocked()
  } finally {
    await own.close()
    await login.drop()
  }
})

test('is forgotten a while after its end', async () => {
  const ids = [await asked(), await asked(), await asked()]
  for (const _ of ids.slice(0, 2))
    await doNext(() => {
      throw new Error('a fault')
    })
  const left = async () => (await Promise.all(ids.map(found))).map((one) => one?.state ?? null)
  await inPlatform(store, (tx) => forgetBacktests(tx, new Date(store.now), 200))
  expect(await left()).toEqual(['failed', 'failed', 'queued'])
  await inPlatform(store, (tx) => forgetBacktests(tx, new Date(store.now), 1))
  expect(await left()).toEqual([null, 'failed', 'queued'])
  await inPlatform(store, (tx) => forgetBacktests(tx, new Date(store.now + 1), 200))
  expect(await left()).toEqual([null, null, 'queued'])
})
