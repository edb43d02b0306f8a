/** How many mails the example month makes, and how many a naive system would send. docs/alerts.md has the numbers. */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { aStore } from '../../setup/estate.ts'
import { EXAMPLE_MONTH, exampleMonth } from '../example-month.ts'
import { evaluationOptions, watch } from '../harness.ts'
import { anEnforcer, hitsOf, settle, usageOf } from '../lived-month.ts'
import { aPost, SECOND } from './post.ts'

/** Sweeps after a delivery, in seconds: causes leave half a minute after it, at the latest after two. */
const SWEEPS = [5, 40, 130, 700, 1800]
const HOUR = 3600 * SECOND

const store = await aStore('2026-09-30T23:00:00Z')
await activateRules(store, await readRuleFiles(''), 'the tests')

test('the example month makes some forty mails, of three thousand times that a rule holds', async () => {
  const post = await aPost(store)
  const month = exampleMonth()
  store.now = EXAMPLE_MONTH.startsAt + SECOND
  const ids = await settle(post, month)
  const options = evaluationOptions()
  const { rules } = await inPlatform(store, options.rules)
  const enforce = anEnforcer(post, '2026-10')
  let hits = 0
  for (const { at, records } of month.steps) {
    store.now = at
    if (records.length > 0) await post.record(records.map(usageOf))
    if (at < EXAMPLE_MONTH.endsAt) {
      hits += await hitsOf(post, rules, [...new Set(records.map(({ iccid }) => ids.get(iccid) ?? 0))])
    }
    await watch(store, options, post.tenantId)
    await enforce()
    for (const seconds of SWEEPS) {
      store.now = at + seconds * SECOND
      if (await post.hasWork()) await post.send()
    }
  }
  store.now = EXAMPLE_MONTH.endsAt + 6 * HOUR
  await post.asTenant((tx) => closeCycle(tx, '2026-10'))
  await post.send()
  store.now += 2 * HOUR
  await post.send()

  const mails = await post.arrived()
  const [notices] = await post.rows(sql<{ count: number }>`select count(*)::integer as count from notifications`)
  expect({ hits, notices: notices?.count, mails: mails.length }).toEqual({ hits: 3139, notices: 57, mails: 45 })
  const subjects = mails.map(({ subject }) => subject)
  for (const subject of [
    'No usage received for 36 h: limits are not watched until it arrives',
    'Resolved: Usage is received again: limits are watched',
    'meter-020 is active again: it is under its limit again',
    'Again: meter-020 over its limit (101 of 100 MB): suspended',
    'Pool Service vans 22.7 MB over: 1 SIM suspended',
    'Billing cycle October 2026 closed: EUR 719.44',
  ]) {
    expect(subjects).toContain(subject)
  }
  expect(subjects.filter((subject) => subject.length > 70)).toEqual([])
}, 900_000)
