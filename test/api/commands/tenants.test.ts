/** Lists for operators: tenants, keys, changes and billing cycles. */
import { describe, expect, test } from 'vitest'
import { listCycles, planCycle, showStatement } from '../../../cli/commands/cycles.ts'
import { createTenant, listAudit, listKeys, listTenants } from '../../../cli/commands/tenants.ts'
import { aSim } from '../harness.ts'
import { useCommandHarness } from './harness.ts'

const command = useCommandHarness()
const { harness, lines } = command
const ours = () => ({ tenant: harness.tenant.id })
const printed = () => JSON.parse(lines.join('\n'))

describe('tenants', () => {
  test('are created, and listed by a part of their name', async () => {
    const ask = { email: 'billing@herd.example', cycle: 'P7D', currency: 'USD', output: 'json' } as const
    await createTenant(command.settings, 'Herd of %', ask)
    const { id, key } = printed()
    lines.length = 0
    await listTenants(command.settings, { search: 'd of %' })

    expect(key).toMatch(/^sim_[0-9a-f]{12}_/)
    expect(lines.at(-1)).toMatch(new RegExp(`^${id} +Herd of % +billing@herd\\.example +P7D +USD +on +\\d{4}-`))
    lines.length = 0
    await listTenants(command.settings, { search: 'nobody of that name' })
    expect(lines).toEqual(['there is no such tenant'])
  })

  test('have keys, which are listed without their secrets', async () => {
    await listKeys(command.settings, { ...ours(), output: 'json' })

    expect(printed()).toContainEqual(expect.objectContaining({ id: harness.tenant.key.split('_')[1] }))
    expect(lines.join()).not.toContain(harness.tenant.key)
  })

  test('have a trail of changes with the values before and after', async () => {
    await harness.tenant.ask('PATCH', '/api/tenant/name', { name: 'Renamed once' })
    await listAudit(command.settings, { ...ours(), subject: 'tenant' })
    const own = [...lines]
    lines.length = 0
    await listAudit(command.settings, { subject: 'key', output: 'json' })

    expect(own[2]).toMatch(/ key:\w+ +renameTenant +tenant \w+ +name: ".*" → "Renamed once"$/)
    // Keys of tenants are in the trails of their tenants.
    expect(printed()).toMatchObject({ data: [], pagination: { totalItems: 0 } })
  })
})

describe('billing cycles', () => {
  test('are listed, and the running one is planned', async () => {
    const { id: simId } = await aSim(harness.tenant)
    const record = { recordId: 'cycles-1', simId, at: '2026-11-20T11:00:00Z', bytesUp: 1 }
    await harness.tenant.inside('POST', '/internal/usage', { records: [record] })
    await listCycles(command.settings, { ...ours(), output: 'json' })
    const [cycle] = printed()
    lines.length = 0
    await listCycles(command.settings, ours())
    await planCycle(command.settings, ours())
    await showStatement(command.settings, cycle.key, ours())

    expect(lines[2]).toMatch(new RegExp(`^${cycle.key} .* open `))
    expect(lines).toContainEqual(expect.stringMatching(/^dry run of the end of cycle /))
    expect(lines).toContain(`statement of ${cycle.key}: EUR 0.00 in 0 lines`)
  })
})
