/** `simherd enforcement …`: the commands and their options. */
import { Argument, type Command } from 'commander'
import type { Settings } from '../../process/settings.ts'
import { ASKS } from '../help-text.ts'
import { decimal, id, wholeNumber } from '../option-values.ts'
import type { ChangeFlags, TenantFlags } from './enforcement.ts'

/** @param settings reads the settings; called when a command needs them */
export function addEnforcementCommands(program: Command, settings: () => Settings): void {
  const enforcement = program
    .command('enforcement')
    .description('What the watchdog may suspend: the switch of a tenant, its guard, and what the guard holds.')
  const ofTenant = (name: string, description: string, example: string) =>
    enforcement
      .command(name)
      .description(description)
      .requiredOption('--tenant <id>', 'the tenant')
      .addHelpText('after', `\n${ASKS}\n\nExample:\n  npx simherd enforcement ${example}`)

  ofTenant('show', 'The switch, the limits of the guard, and what it holds.', 'show --tenant t0123456789ab').action(
    async (flags: TenantFlags) => {
      const { showEnforcement } = await import('./enforcement.ts')
      await showEnforcement(settings(), flags)
    },
  )

  const change = (enabled?: boolean) => async (flags: ChangeFlags) => {
    const { changeEnforcement } = await import('./enforcement.ts')
    await changeEnforcement(settings(), flags, enabled)
  }
  ofTenant(
    'off',
    'Suspend nothing more. What is suspended stays so until its cycle is renewed.',
    'off --tenant t0123456789ab',
  ).action(change(false))
  ofTenant('on', 'Suspend again.', 'on --tenant t0123456789ab').action(change(true))
  ofTenant(
    'limit',
    'Change how much one rule may suspend, or begin to tell of, in an hour before the rest is held.',
    'limit --tenant t0123456789ab --least 50 --pct 10',
  )
    .option('--least <n>', 'SIMs that are always let through', wholeNumber(0, 1_000_000))
    .option('--pct <n>', 'share of the SIMs, in percent, where that is more', decimal(0, 100))
    .option('--alerts-least <n>', 'subjects that it may always begin to tell of', wholeNumber(0, 1_000_000))
    .option('--alerts-pct <n>', 'share of the SIMs or pools, in percent, where that is more', decimal(0, 100))
    .action(change())

  for (const [name, description] of [
    ['release', 'Let what a hold keeps back be suspended, or told; the count of the hour begins anew.'],
    ['discard', 'Leave what a hold keeps back alone, until its alert has cleared.'],
  ] as const) {
    ofTenant(name, description, `${name} 3 --tenant t0123456789ab`)
      .addArgument(new Argument('<hold>', 'number of the hold, as "show" says').argParser(id))
      .action(async (hold: number, flags: TenantFlags) => {
        const { decide } = await import('./enforcement.ts')
        await decide(settings(), name, hold, flags)
      })
  }
}
