/**
 * A mixed storm, for each landing: 100 lifecycles and 500 alerts while worker, API, PostgreSQL, Temporal, Redis and carrier
 * are each killed once, and the mail server answers 421, 451, 550 5.1.1 and 550 5.7.1, breaks off in DATA, keeps mails
 * without an answer, and is late. Afterwards everything is checked as by the long ones, `lifecycles` and `alerts`.
 */
import { afterAll, expect, test } from 'vitest'
import { requireRedis } from '../setup/requirements.ts'
import { soon } from '../setup/soon.ts'
import { reportTable } from './harness.ts'
import { herdRules } from './herd.ts'
import { reportOn } from './outcome.ts'
import { reportOnStorm, stormTable, strikesTable } from './storm/outcome.ts'
import { MANNERS, type Met, playMixedStorm } from './storm/play-mixed.ts'
import { KEPT_LATE } from './storm/post-folder.ts'
import { openStorm, type Storm } from './storm/storm.ts'

const hasRedis = requireRedis('a mixed storm') !== undefined
/** What the mail server must have answered: without it the storm proves nothing. */
const ANSWERS = ['250', '421', '451', '550 5.1.1', '550 5.7.1', 'dropped in DATA', 'kept, dropped', KEPT_LATE]
/** The carrier's time limit is not tested here. A call is given up when eight tenths of the lease are over. */
const SETTINGS = { CARRIER_TIMEOUT: 'PT30S', TICKET_LEASE: 'PT10S' } as const

let storm: Storm | undefined
afterAll(() => storm?.close())

test.skipIf(!hasRedis)('loses nothing and repeats nothing, whatever is killed', { timeout: 900_000 }, async () => {
  const opened = await openStorm({ withRedis: true, manners: MANNERS, settings: SETTINGS, rules: herdRules })
  storm = opened

  const played = await playMixedStorm(opened)

  const report = async () => {
    const received = (await opened.post.mails()).list()
    const lifecycles = await Promise.all(played.herds.map((herd) => reportOn(herd, received)))
    const alerts = await reportOnStorm(opened, played)
    return { lifecycles, alerts, faults: [...lifecycles, alerts].flatMap(({ faults }) => faults) }
  }
  const more = { effects: ({ effects }: Met) => effects, 'tickets open': ({ open }: Met) => open }
  let tables = ''
  // Temporal's lists lag a little, and so do the mails' work list and the operator's mails.
  const looked = soon(async () => {
    const { lifecycles, alerts, faults } = await report()
    const all = [strikesTable(played.strikes, more), reportTable(lifecycles), stormTable(played, alerts)]
    tables = `${played.seconds} s\n\n${all.join('\n\n')}`
    expect(faults).toEqual([])
    return { lifecycles, alerts }
  }, 30)
  const { lifecycles, alerts } = await looked.finally(() => console.log(`\n${tables}\n`))
  expect(ANSWERS.filter((answer) => !alerts.answers.has(answer))).toEqual([])
  for (const { doubles, effects, tickets } of lifecycles) expect([doubles, effects]).toEqual([0, tickets])
  // Answers of the carrier were lost, and asked for again.
  expect(lifecycles[0]?.repeated).toBeGreaterThan(0)
  for (const { killed, logged, alerts: all, pending, open } of played.strikes) {
    expect(logged, `alerts before ${killed} was killed`).toBeLessThan(all)
    expect(pending, `mails when ${killed} was killed`).toBeGreaterThan(0)
    expect(open, `tickets when ${killed} was killed`).toBeGreaterThan(0)
  }
})
