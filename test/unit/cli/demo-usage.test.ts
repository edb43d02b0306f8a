import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { billingCycleAt, mapDays } from '../../../cli/demo/mapping.ts'
import { cycleScript } from '../../../cli/demo/scripts.ts'
import { asDelivery, makeUsage } from '../../../cli/demo/usage.ts'
import { cycleAt } from '../../../domain/time/cycle.ts'

describe('the usage of the demonstration', () => {
  const now = Date.parse('2026-11-21T09:00:00Z')
  const { estate, newcomers } = cycleScript()
  const sims = estate.sims.filter(({ iccid }) => !newcomers.has(iccid))
  const mapping = mapDays(cycleAt(billingCycleAt(now), now), now)
  const usage = makeUsage(sims, mapping)

  test('is of the 270 SIMs that are taken over, from the start of the cycle up to now', () => {
    expect([sims.length, newcomers.size]).toEqual([270, 30])
    expect(usage.length).toBeGreaterThan(20_000)
    expect(usage.filter(({ at }) => at < mapping.cycle.startsAt || at > now)).toEqual([])
    expect(usage.filter(({ record }) => newcomers.has(record.iccid))).toEqual([])
  })

  test('makes the same delivery again', async () => {
    const [first, second] = [
      await asDelivery(usage.slice(0, 50)),
      await asDelivery(makeUsage(sims, mapping).slice(0, 50)),
    ]
    const lines = gunzipSync(first.bytes).toString().trimEnd().split('\n')

    expect(second).toEqual(first)
    expect(lines[0]).toBe('recordId,iccid,at,bytesUp,bytesDown,voiceSeconds,smsCount,sessions,imei,country,mccMnc')
    expect(lines).toHaveLength(51)
  })
})
