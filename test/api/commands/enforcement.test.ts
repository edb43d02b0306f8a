import { describe, expect, test } from 'vitest'
import { changeEnforcement, decideHold, showEnforcement } from '../../../cli/commands/enforcement.ts'
import { CommandFailure, ExitCode } from '../../../cli/failures.ts'
import { aSim } from '../harness.ts'
import { useCommandHarness } from './harness.ts'

const command = useCommandHarness()
const { harness, lines } = command
const ours = () => ({ tenant: harness.tenant.id })

/** Has the guard hold two SIMs. @returns the hold */
async function aHold(): Promise<number> {
  const sims = [await aSim(harness.tenant), await aSim(harness.tenant)]
  const { body } = await harness.tenant.inside('POST', '/internal/enforcement/permits', {
    rule: 'sim-overage',
    cycle: '2026-11',
    simIds: sims.map(({ id }) => id),
    workflowId: 'w',
  })
  return body.holdId
}

describe('enforcement', () => {
  test('shows settings and holds, and decides a hold once', async () => {
    await changeEnforcement(command.settings, { ...ours(), least: 0, pct: 0 })
    const hold = await aHold()
    lines.length = 0

    await showEnforcement(command.settings, ours())
    await decideHold(command.settings, 'discard', hold, ours())
    await showEnforcement(command.settings, ours())

    expect(lines[0]).toBe('enforcement is on')
    expect(lines[1]).toBe(
      'guard: one rule suspends at most 0 SIMs an hour, or 0 % of its pool (else of the tenant) where that is more; the rest is held',
    )
    expect(lines[2]).toBe(
      "guard: one rule tells of at most 50 new subjects an hour, or 2 % of the tenant's where that is more; the rest is held",
    )
    expect(lines).toContainEqual(
      expect.stringMatching(new RegExp(`^ {2}${hold} +suspensions +sim-overage +none +\\d{4}-\\d\\d .* 2 +0$`)),
    )
    expect(lines).toContain(`hold ${hold} is discarded: 2 subjects are left alone until their alert has cleared`)
    expect(lines.at(-1)).toBe('nothing is held')
    await expect(decideHold(command.settings, 'release', hold, ours())).rejects.toMatchObject({ exitCode: 4 })
  })

  test('switches off and on, keeping the limits', async () => {
    await changeEnforcement(command.settings, { ...ours(), least: 7, alertsLeast: 9 })
    await changeEnforcement(command.settings, { ...ours(), enabled: false })
    expect(lines).toContain('enforcement is off: nothing is suspended, rules only say what they would do')
    lines.length = 0

    await changeEnforcement(command.settings, { ...ours(), enabled: true })

    expect(lines[0]).toBe('enforcement is on')
    expect(lines[1]).toContain('at most 7 SIMs an hour')
    expect(lines[2]).toContain('at most 9 new subjects an hour')
  })

  test('refuses a change without limits, or an unknown tenant', async () => {
    await expect(changeEnforcement(command.settings, ours())).rejects.toEqual(
      new CommandFailure('got no limit, expected --least, --pct, --alerts-least or --alerts-pct', ExitCode.usage),
    )
    await expect(showEnforcement(command.settings, { tenant: 't000000000000' })).rejects.toMatchObject({ exitCode: 3 })
  })
})
