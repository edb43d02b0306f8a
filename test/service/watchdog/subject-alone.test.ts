/** A subject whose alert cannot be written, among subjects whose alerts can. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { TariffType, WatchdogMode } from '../../../domain/codes.ts'
import { MB } from '../../../domain/units.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { loadRuleSet } from '../../../rules/load/load-rule-set.ts'
import { compiledRules } from '../../../service/rules/rules-in-force.ts'
import { evaluateSubjects } from '../../../service/watchdog/evaluate-subjects.ts'
import type { FailedSubject } from '../../../service/watchdog/evaluation-options.ts'
import { connect } from '../../../store/connect.ts'
import { lookAtAll } from '../../../store/shards.ts'
import { aStore } from '../../setup/estate.ts'
import { aHarness, evaluationOptions, watch } from '../harness.ts'

const store = await aStore()
const { rules: shipped } = await loadRuleSet(await readRuleFiles(''))
const MINUTE = 60_000

/** The shipped rules, and one more: its message about the SIM tagged `odd` has a NUL, which cannot be stored. */
const rules = shipped.flatMap((rule) => {
  if (rule.name !== 'sim-overage') return [rule]
  const params = { ...rule.event.params, message: 'SIM {{iccid}} \0' }
  return [rule, { ...rule, name: 'sim-odd', match: { tag: 'odd' }, event: { ...rule.event, params } }]
})

async function anEstate(count: number, odd: number) {
  const harness = await aHarness(store)
  const poolId = await harness.aPool(TariffType.Standard, 100 * MB, { watchdogMode: WatchdogMode.Enforce })
  const sims = await harness.activeSims(count, { poolId })
  const oddId = sims[odd] ?? 0
  await harness.asTenant((tx) => sql`update sims set tag = 'odd' where id = ${oddId}`.execute(tx.q))
  const failed: FailedSubject[] = []
  const inForce = compiledRules({ version: 1, activatedAt: null, rules, refused: null })
  const onFailed = (one: FailedSubject) => failed.push(one)
  const options = { ...evaluationOptions(), rules: async () => inForce, onFailed }
  return {
    ...harness,
    sims,
    oddId,
    failed,
    options,
    evaluate: () => watch(store, options, harness.tenantId),
    useAll: () => harness.record(sims.map((simId) => harness.usage(simId, { bytesDown: 101 * MB }))),
  }
}

describe('a subject that cannot be evaluated', () => {
  test('does not stop the rest of its batch', async () => {
    const estate = await anEstate(20, 7)
    const others = estate.sims.filter((id) => id !== estate.oddId)
    await estate.useAll()

    await estate.evaluate()

    const asked = await estate.rows(sql<{ id: string }>`select workflow_id as id from workflow_outbox`)
    const firing = await estate.rows(sql<{ id: number }>`
    select subject_id as id from alerts where rule = 'sim-overage' and firing order by 1`)
    expect(firing.map(({ id }) => id)).toEqual(others)
    expect(asked.map(({ id }) => id.split(':')[2]).toSorted()).toEqual(others.map(String).toSorted())
    expect(estate.failed).toMatchObject([{ tenantId: estate.tenantId, kind: 'sim', id: estate.oddId }])
    expect(String(estate.failed[0]?.error)).toMatch(/unsupported Unicode escape sequence/)
  })

  test('is retried with doubling backoff, regardless of usage', async () => {
    const estate = await anEstate(2, 0)
    const look = async (afterMs: number) => {
      store.now += afterMs
      await estate.useAll()
      await estate.evaluate()
      return estate.failed.length
    }

    const tries = [await look(0), await look(MINUTE - 1000), await look(1000), await look(MINUTE), await look(MINUTE)]
    await estate.asTenant((tx) => sql`update sims set tag = '' where id = ${estate.oddId}`.execute(tx.q))
    await look(4 * MINUTE)
    const last = await look(MINUTE)

    expect(tries).toEqual([1, 1, 2, 2, 3])
    expect(last).toBe(3)
    const firing = await estate.rows(sql`select 1 from alerts where rule = 'sim-overage' and firing`)
    expect(firing).toHaveLength(2)
    expect(await estate.rows(sql`select 1 from due_subjects where failures > 0`)).toEqual([])
  })

  test('is retried at once after lookAtAll', async () => {
    const estate = await anEstate(1, 0)
    await estate.useAll()
    await estate.evaluate()

    await estate.asTenant((tx) => lookAtAll(tx))
    await estate.evaluate()

    expect(estate.failed).toHaveLength(2)
  })

  test('is not blamed for an unreachable database', async () => {
    const estate = await anEstate(2, 0)
    const { db, close } = connect('postgres://127.0.0.1:1/none')

    const away = evaluateSubjects({ ...store, db }, estate.options, estate.tenantId)

    await expect(away).rejects.toThrow(/ECONNREFUSED/)
    expect(estate.failed).toEqual([])
    await close()
  })
})
