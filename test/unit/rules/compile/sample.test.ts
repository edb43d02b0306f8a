import { describe, expect, test } from 'vitest'
import { isSampled } from '../../../../rules/compile/sample.ts'

const asked = {
  tenantId: '0f8fad5b-d9cb-469f-a165-70867728950e',
  subject: { kind: 'sim', id: 1 },
  version: 7,
} as const
const idsOf = (changes: object) =>
  Array.from({ length: 1_000_000 }, (_, id) => id).filter((id) =>
    isSampled({ ...asked, ...changes, subject: { kind: 'sim', id } }),
  )

describe('isSampled', () => {
  test('takes one of 10,000, spread over all', () => {
    const ids = idsOf({})

    expect(ids.length).toBeGreaterThan(60)
    expect(ids.length).toBeLessThan(140)
    expect(new Set(ids.map((id) => Math.floor(id / 100_000))).size).toBe(10)
  })

  test('takes the same for a version, and others for the next', () => {
    const ids = new Set(idsOf({}))

    expect(idsOf({}).every((id) => ids.has(id))).toBe(true)
    for (const changes of [{ version: 8 }, { tenantId: '0f8fad5b-d9cb-469f-a165-70867728950f' }]) {
      expect(idsOf(changes).filter((id) => ids.has(id)).length).toBeLessThan(5)
    }
  })

  test('tells kinds of subjects apart, and ids beyond 32 bits', () => {
    const sampled = (kind: 'pool' | 'sim', plus: number) =>
      idsOf({}).filter((id) => isSampled({ ...asked, subject: { kind, id: id + plus } })).length

    expect(sampled('sim', 0)).toBeGreaterThan(60)
    expect(sampled('pool', 0)).toBeLessThan(5)
    expect(sampled('sim', 2 ** 32)).toBeLessThan(5)
  })
})
