/** `simherd tenants …`: the commands and their options. */
import { type Command, Option } from 'commander'
import type { Settings } from '../../process/settings.ts'
import { ASKS } from '../help-text.ts'
import type { NoticeFlags } from './notices.ts'

/** @param settings reads the settings; called when a command needs them */
export function addTenantCommands(program: Command, settings: () => Settings): void {
  program
    .command('tenants')
    .description('Settings of a tenant.')
    .command('notices')
    .description('Show how a tenant wants to be told, or change it.')
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--time-zone <name>', 'IANA name of the time zone in which mails show instants: Europe/Berlin')
    .option('--feed-every <duration>', 'how often usage is received, PT1M to P31D')
    .option('--escalate-after <duration>', 'escalate a Critical alert that nobody acknowledges, PT1M to P7D')
    .option('--no-escalate-after', 'escalate none')
    .addOption(
      new Option('--mails-from <level>', 'the least level of alerts that are mailed').choices([
        'info',
        'warning',
        'critical',
      ]),
    )
    .addHelpText(
      'after',
      `
${ASKS}
Usage that is not received for one and a half times as long as --feed-every says is reported, and while it is away alerts
about usage stay as they are.

Example:
  npx simherd tenants notices --tenant t0123456789ab --time-zone Europe/Berlin --feed-every PT1H`,
    )
    .action(async (flags: NoticeFlags) => {
      const { tenantNotices } = await import('./notices.ts')
      await tenantNotices(settings(), flags)
    })
}
