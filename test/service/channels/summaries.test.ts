import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { LogLevel, TariffType } from '../../../domain/codes.ts'
import { closeCycle } from '../../../service/month-end/close-cycle.ts'
import { aPool, aStore, aTariff, byHand } from '../../setup/estate.ts'
import { aPost } from './post.ts'

// A ledger is written by hand here, without its pool's totals.
const store = await aStore(undefined, { counted: false })

describe('the summary of a cycle', () => {
  test('leaves in its own mail, with the statement', async () => {
    const post = await aPost(store)
    const tariff = await post.asTenant((tx) => aTariff(tx, TariffType.Standard, 1_000_000))
    const [simId = 0] = await post.activeSims(1, { tariffId: tariff.id })
    const began = store.now
    await post.record([post.usage(simId, { bytesUp: 1_500_000, smsCount: 2, voiceSeconds: 90 })])
    store.now = Date.parse('2026-12-01T06:00:00Z')
    await post.notify(post.notification(LogLevel.Warning), post.notification())
    await post.asTenant((tx) => closeCycle(tx, '2026-11'))
    await post.asTenant((tx) => closeCycle(tx, '2026-11'))

    await post.send()
    store.now = began

    const mails = await post.mails()
    expect(mails.map(({ keys }) => keys.length)).toEqual([1, 1, 1])
    expect(mails.filter(({ keys }) => keys.includes('summary/2026-11'))).toHaveLength(1)
    const summary = (await post.arrived()).find(({ subject }) => subject.includes('November 2026'))
    const [header, ...lines] = (await post.statement(summary)).replace('\uFEFF', '').trim().split(/\r?\n/)
    expect(header).toBe(
      'line,pool,iccid,usageMB,limitMB,overageMB,voiceMins,smsCount,fee,sms,voice,overage,total,adjusts,tag,tariff,currency',
    )
    expect(lines).toEqual([
      expect.stringMatching(
        /^sim,,\d{19},1\.5,1,0\.5,1\.5,2,1\.000000,0\.100000,0\.150000,0\.002500,1\.252500,,,tariff of \d+ bytes,EUR$/,
      ),
    ])
  })

  test('attaches only the pools of a long statement', async () => {
    const post = await aPost(store)
    const began = store.now
    await post.asTenant(async (tx) => {
      const { id } = await aPool(tx, (await aTariff(tx, TariffType.Standard, 1_000_000)).id, { name: 'Many' })
      await byHand(tx)
      await sql`
        with made as (
          insert into sims (iccid, type, status_since, created_at, updated_at)
          select (8944600000000000000 + n)::text, 0, ${tx.now}::timestamptz, ${tx.now}, ${tx.now}
            from generate_series(1, 20001) n returning id
        )
        insert into usage_ledger (cycle_key, sim_id, pool_id, contributing, bytes)
        select '2026-11', id, ${id}::integer, true, 1500 from made`.execute(tx.q)
    })
    store.now = Date.parse('2026-12-01T06:00:00Z')
    await post.asTenant((tx) => closeCycle(tx, '2026-11'))

    await post.send()
    store.now = began

    const [summary] = await post.arrived()
    const rows = (await post.statement(summary)).trim().split(/\r?\n/)
    expect(rows).toHaveLength(2)
    expect(rows[1]).toMatch(/^pool,Many,,30\.0015,/)
    expect(summary?.text).toContain(
      'attached: statement-2026-11.csv, its pools only: 20,001 more lines at /internal/cycles/2026-11/statement.csv',
    )
  })
})
