import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { useHouse } from './house.ts'

const house = useHouse()
const FILE = 'sim/sim-overage.json'
const text = () => readFile(new URL(`../../rules/${FILE}`, import.meta.url), 'utf8')

describe('rule sets', () => {
  test('are in force as a whole, and the same set is the same version', async () => {
    const set = { files: [{ file: FILE, text: await text() }], author: 'a test' }

    const first = await house.operate('POST', '/internal/rules', set)
    const again = await house.operate('POST', '/internal/rules', set)
    const inForce = await house.operate('GET', '/internal/rules')

    expect(first.body).toEqual({ version: expect.any(Number), changed: true })
    expect(again.body).toEqual({ version: first.body.version, changed: false })
    expect(inForce.body).toMatchObject({
      version: first.body.version,
      refused: null,
      rules: [{ name: 'sim-overage', subject: 'sim', file: FILE, stage: 'enforce' }],
    })
  })

  test('with a fault are refused with every fault, and the set before stays', async () => {
    const before = (await house.operate('GET', '/internal/rules')).body.version
    const broken = (await text()).replace('"overageMB"', '"overageMb"').replace('"Critical"', '"Terrible"')

    const answer = await house.operate('POST', '/internal/rules', {
      files: [{ file: FILE, text: broken }],
      author: 'x',
    })

    expect([answer.status, answer.body.code]).toEqual([422, 'rules_rejected'])
    const details = answer.body.errors.map(({ detail }: { detail: string }) => detail).join('\n')
    expect(details).toContain('overageMB')
    expect(details).toContain('Terrible')
    expect((await house.operate('GET', '/internal/rules')).body.version).toBe(before)
    const events = await house.tenant.ask('GET', '/api/events?type=2')
    expect(events.body.data.map(({ title }: { title: string }) => title)).toContain('Rule set rejected')
  })
})
