/** `simherd workflows start …`: the workflows that can be started, and their options. */

import { type Command, Option } from 'commander'
import { SUSPENDED_UNTIL } from '../../domain/enforcement/suspend.ts'
import type { Settings } from '../../process/settings.ts'
import { ASKS } from '../help-text.ts'
import { id, wholeNumber } from '../option-values.ts'
import type { MonthEndFlags, ProvisionFlags, SuspendFlags, UndoFlags } from './start.ts'
import type { BulkFlags } from './start-bulk.ts'

export function addStarts(workflows: Command, settings: () => Settings): void {
  const start = workflows
    .command('start')
    .description('Start a workflow. One that runs already, or may not run again, is left alone, and said so.')

  const startOf = (name: string, description: string) =>
    start
      .command(name)
      .description(description)
      .requiredOption('--tenant <id>', 'the tenant')
      .option('--wait', 'follow it until it ends; exit code 1 where it failed')
      .option('--json', 'answer as JSON')

  startOf('provision-and-activate', 'Take a SIM from Unprovisioned to Active; undone where a step fails for good.')
    .option('--sim <id>', 'the SIM, by its id', id)
    .option('--iccid <iccid>', 'the SIM, by its ICCID')
    .option('--pool <id>', 'into this pool; left out: none', id)
    .option('--tariff <id>', 'with this tariff of its own; left out: none', id)
    .option('--tag <text>', 'with this tag')
    .addHelpText(
      'after',
      `
${ASKS}
Refused with the reason where the SIM is provisioned elsewhere, or was suspended: exit code 4.

Example:
  npx simherd workflows start provision-and-activate --tenant t0123456789ab --iccid 8999990000000000015 --pool 1 --wait`,
    )
    .action(async (flags: ProvisionFlags) => {
      const { startProvision } = await import('./start.ts')
      await startProvision(settings(), flags)
    })

  startOf('provision-in-bulk', 'Take many SIMs from Unprovisioned to Active.')
    .argument('<file>', 'CSV with a column iccid or simId, and poolId, tariffId, tag as wanted')
    .option('--pool <id>', 'into this pool, where a row names none', id)
    .option('--tariff <id>', 'with this tariff, where a row names none', id)
    .option('--parallel <n>', 'SIMs under way at once, 1 to 200 (50)', wholeNumber(1, 200))
    .option('--skip-invalid', 'leave out rows that cannot be; otherwise one refuses the file')
    .addHelpText(
      'after',
      `
${ASKS}
At most 100,000 SIMs. With --wait it tells how many are done, failed and left, how fast, and when it ends.

Example:
  npx simherd workflows start provision-in-bulk ./sims.csv --tenant t0123456789ab --pool 1 --parallel 100 --wait`,
    )
    .action(async (file: string, flags: BulkFlags) => {
      const { startBulk } = await import('./start-bulk.ts')
      await startBulk(settings(), file, flags)
    })

  startOf('suspend-on-overage', 'Suspend a SIM that is over its limit, until its cycle is renewed; once a cycle.')
    .requiredOption('--sim <id>', 'the SIM, by its id', id)
    .option('--grace <duration>', 'how long it may stay over, such as PT2H; left out: it is suspended at once')
    .addOption(
      new Option('--until <when>', 'comes back with the renewal, or by a person only').choices(SUSPENDED_UNTIL),
    )
    .option('--rule <name>', 'the rule it is done for')
    .option('--cycle <key>', 'of this billing cycle; left out: the running one')
    .addHelpText(
      'after',
      `
${ASKS}
Before it acts it reads the SIM again: still over, mode Enforce, not exempt. --wait stays until the renewal.

Example:
  npx simherd workflows start suspend-on-overage --tenant t0123456789ab --sim 7 --grace PT2H --until renewal`,
    )
    .action(async (flags: SuspendFlags) => {
      const { startSuspend } = await import('./start.ts')
      await startSuspend(settings(), flags)
    })

  startOf('month-end', 'End a billing cycle: queued changes, SIMs that come back, the statement; once a cycle.')
    .option('--cycle <key>', 'this cycle; left out: the last that has ended, or, as a dry run, the running one')
    .option('--dry-run', 'only show what it would do')
    .addHelpText(
      'after',
      `
${ASKS}
It starts by itself when a cycle ends ("simherd schedule"). A cycle that has not ended is refused: exit code 4.

Examples:
  npx simherd workflows start month-end --tenant t0123456789ab --dry-run
  npx simherd workflows start month-end --tenant t0123456789ab --cycle 2026-10 --wait`,
    )
    .action(async (flags: MonthEndFlags) => {
      const { startMonthEnd } = await import('./start.ts')
      await startMonthEnd(settings(), flags)
    })

  addUndo(startOf, settings)
}

function addUndo(startOf: (name: string, description: string) => Command, settings: () => Settings): void {
  startOf('undo-suspensions', 'Bring back all that one rule has suspended since a time.')
    .requiredOption('--rule <name>', 'the rule')
    .requiredOption('--since <instant>', 'what it has suspended from here on, such as 2026-11-20T00:00:00Z')
    .option('--until <instant>', 'and before; left out: now')
    .addHelpText(
      'after',
      `
${ASKS}
The watchdog suspends none of these SIMs again in this cycle. What a person has suspended stays. A pool that stays over
picks others: take the rule out, or switch enforcement off, before.

Example:
  npx simherd workflows start undo-suspensions --tenant t0123456789ab --rule pool-overage --since 2026-11-20T00:00:00Z`,
    )
    .action(async (flags: UndoFlags) => {
      const { startUndo } = await import('./start.ts')
      await startUndo(settings(), flags)
    })
}
