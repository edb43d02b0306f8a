import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { chooseCycle, mapOnto } from '../../../cli/demo/mapping.ts'
import { asDelivery, FILE_MONTH, readUsageFile } from '../../../cli/demo/usage-file.ts'

describe('the usage file', () => {
  test('makes the same delivery from the same rows', async () => {
    const rows = (await readUsageFile()).slice(0, 50)
    const now = Date.parse('2026-11-21T09:01:00Z')
    const mapping = mapOnto(chooseCycle('PT5M', now).cycle, now, FILE_MONTH)

    const [first, second] = [await asDelivery(rows, mapping), await asDelivery(rows, mapping)]
    const text = gunzipSync(first.bytes).toString()

    expect(second).toEqual(first)
    expect(text.split('\n')[0]).toBe('recordId,iccid,at,bytesUp,bytesDown,voiceSeconds,smsCount,imei')
    expect(text.split('\n')[1]).toContain(',2026-11-21T09:01:00.')
    expect(text.trimEnd().split('\n')).toHaveLength(51)
  })
})
