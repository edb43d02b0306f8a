/** `simherd addresses …`: the commands and their options. */
import { Argument, type Command, Option } from 'commander'
import { LogLevel } from '../../domain/codes.ts'
import type { Settings } from '../../process/settings.ts'
import { ASKS } from '../help-text.ts'
import { id } from '../option-values.ts'
import type { AddFlags } from './addresses.ts'
import type { TenantFlags } from './enforcement.ts'

/** @param settings reads the settings; called when a command needs them */
export function addAddressCommands(program: Command, settings: () => Settings): void {
  const addresses = program.command('addresses').description("Where a tenant's mails go.")
  const ofTenant = (name: string, description: string, example: string) =>
    addresses
      .command(name)
      .description(description)
      .requiredOption('--tenant <id>', 'the tenant')
      .addHelpText('after', `\n${ASKS}\n\nExample:\n  npx simherd addresses ${example}`)
  const address = () => new Argument('<address>', 'number of the address, as "list" says').argParser(id)

  ofTenant('list', 'Addresses, billing first.', 'list --tenant t0123456789ab').action(async (flags: TenantFlags) => {
    const { listAddresses } = await import('./addresses.ts')
    await listAddresses(settings(), flags)
  })
  ofTenant(
    'add',
    'Send copies of mails to an address, or escalations. The billing address is changed with the tenant.',
    "add field@meadow.example --tenant t0123456789ab --level Critical --rules 'sim-*'",
  )
    .argument('<email>', 'the e-mail address')
    .option('--escalation', 'what nobody has acknowledged in time, and nothing else')
    .addOption(new Option('--level <level>', 'only mails of this level at least').choices(Object.keys(LogLevel)))
    .option('--rules <pattern>', 'only mails about such rules; * stands for any characters')
    .action(async (email: string, flags: AddFlags) => {
      const { addAddress } = await import('./addresses.ts')
      await addAddress(settings(), email, flags)
    })
  ofTenant(
    'confirm',
    'Note that a changed billing address is right: the one before gets nothing any more.',
    'confirm 3 --tenant t0123456789ab',
  )
    .addArgument(address())
    .action(async (number: number, flags: TenantFlags) => {
      const { confirmAddress } = await import('./addresses.ts')
      await confirmAddress(settings(), number, flags)
    })
  ofTenant('clear', 'Send mails again to an address for which no server took any.', 'clear 3 --tenant t0123456789ab')
    .addArgument(address())
    .action(async (number: number, flags: TenantFlags) => {
      const { clearAddress } = await import('./addresses.ts')
      await clearAddress(settings(), number, flags)
    })
  ofTenant('remove', 'Send nothing more to an address.', 'remove 3 --tenant t0123456789ab')
    .addArgument(address())
    .action(async (number: number, flags: TenantFlags) => {
      const { removeAddress } = await import('./addresses.ts')
      await removeAddress(settings(), number, flags)
    })
}
