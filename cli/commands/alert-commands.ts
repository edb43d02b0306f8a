/** `simherd alerts`, `simherd silences …` and `simherd mails …`: the commands and their options. */
import { Argument, type Command, Option } from 'commander'
import type { Settings } from '../../process/settings.ts'
import { ASKS } from '../help-text.ts'
import { id } from '../option-values.ts'
import type { AlertFlags, SilenceFlags } from './alerts.ts'
import type { TenantFlags } from './enforcement.ts'
import type { MailFlags, ShowFlags } from './mails.ts'

/** @param settings reads the settings; called when a command needs them */
export function addAlertCommands(program: Command, settings: () => Settings): void {
  const help = (example: string) => `\n${ASKS}\n\nExample:\n  npx simherd ${example}`
  const alerts = program.command('alerts').description('What the watchdog holds now: alerts that have not ended.')
  alerts
    .command('list', { isDefault: true })
    .description('Alerts that have not ended, by rule and subject.')
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--rule <name>', 'only of this rule')
    .option('--sim <id>', 'only about this SIM', id)
    .option('--pool <id>', 'only about this pool', id)
    .addHelpText('after', help('alerts --tenant t0123456789ab --rule sim-overage'))
    .action(async (flags: AlertFlags) => {
      const { listAlerts } = await import('./alerts.ts')
      await listAlerts(settings(), flags)
    })

  const ofOne = (name: string, description: string, example: string) =>
    alerts
      .command(name)
      .description(description)
      .argument('<rule>', 'name of its rule')
      .requiredOption('--tenant <id>', 'the tenant')
      .option('--sim <id>', 'about this SIM', id)
      .option('--pool <id>', 'about this pool; with neither it is about the tenant', id)
      .addHelpText('after', help(`alerts ${example}`))
  ofOne(
    'show',
    'One alert: since when, what was told, and why not the rest.',
    'show sim-overage --tenant t0123456789ab --sim 42',
  ).action(async (rule: string, flags: AlertFlags) => {
    const { showAlert } = await import('./alerts.ts')
    await showAlert(settings(), { ...flags, rule })
  })
  ofOne(
    'ack',
    'Acknowledge an alert that fires: it is not escalated. Mails and suspensions go on.',
    'ack pool-overage --tenant t0123456789ab --pool 7',
  ).action(async (rule: string, flags: AlertFlags) => {
    const { acknowledge } = await import('./alerts.ts')
    await acknowledge(settings(), { ...flags, rule })
  })

  const mails = program.command('mails').description("A tenant's mails and their delivery.")
  mails
    .command('list')
    .description('Mails, the newest first.')
    .requiredOption('--tenant <id>', 'the tenant')
    .addOption(new Option('--status <status>', 'only these').choices(['pending', 'sent', 'failed']))
    .addHelpText('after', help('mails list --tenant t0123456789ab --status failed'))
    .action(async (flags: MailFlags) => {
      const { listMails } = await import('./mails.ts')
      await listMails(settings(), flags)
    })
  mails
    .command('show')
    .description('A mail as it is sent: headers and text.')
    .argument('<mail>', 'Message-ID of the mail, as "list" says')
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--html', 'its HTML part in place of its text')
    .addHelpText('after', help("mails show '<0192f4c1-7d3a-7b52@simherd>' --tenant t0123456789ab"))
    .action(async (mail: string, flags: ShowFlags) => {
      const { showMail } = await import('./mails.ts')
      await showMail(settings(), mail, flags)
    })
  mails
    .command('resend')
    .description('Send a mail again, as it was, under a new Message-ID.')
    .argument('<mail>', 'Message-ID of the mail, as "list" says')
    .requiredOption('--tenant <id>', 'the tenant')
    .addHelpText('after', help("mails resend '<0192f4c1-7d3a-7b52@simherd>' --tenant t0123456789ab"))
    .action(async (mail: string, flags: TenantFlags) => {
      const { resendMail } = await import('./mails.ts')
      await resendMail(settings(), mail, flags)
    })
  mails
    .command('retry')
    .description('Try a mail again that was given up.')
    .argument('<mail>', 'Message-ID of the mail, as "list" says')
    .requiredOption('--tenant <id>', 'the tenant')
    .addHelpText('after', help("mails retry '<0192f4c1-7d3a-7b52@simherd>' --tenant t0123456789ab"))
    .action(async (mail: string, flags: TenantFlags) => {
      const { retryMail } = await import('./mails.ts')
      await retryMail(settings(), mail, flags)
    })

  const silences = program
    .command('silences')
    .description('What is not mailed for a while. The log and suspensions go on.')
  const ofTenant = (name: string, description: string, example: string) =>
    silences
      .command(name)
      .description(description)
      .requiredOption('--tenant <id>', 'the tenant')
      .addHelpText('after', help(`silences ${example}`))

  ofTenant('list', 'Silences that have not ended, the newest first.', 'list --tenant t0123456789ab')
    .option('--all', 'those that have ended too')
    .action(async (flags: TenantFlags & { all?: boolean }) => {
      const { listSilences } = await import('./alerts.ts')
      await listSilences(settings(), flags)
    })
  ofTenant(
    'add',
    'Mail no alerts of a rule, a SIM, a pool or a tag for a while. Where several are given, all must fit.',
    'add --tenant t0123456789ab --pool 7 --for P2D --reason "Meters are replaced until Friday"',
  )
    .option('--rule <name>', 'of this rule; * stands for any characters')
    .option('--sim <id>', 'about this SIM', id)
    .option('--pool <id>', 'about this pool and its SIMs', id)
    .option('--tag <tag>', 'about SIMs with this tag; * stands for any characters')
    .option('--for <duration>', 'how long, at most P90D: PT12H, P2D; or "cycle": to the end of the billing cycle')
    .option('--until <instant>', 'until when, instead of --for: 2026-11-30T18:00:00Z')
    .requiredOption('--reason <text>', 'why, for those who wonder later')
    .action(async (flags: SilenceFlags) => {
      const { addSilence } = await import('./alerts.ts')
      await addSilence(settings(), flags)
    })
  ofTenant('end', 'End a silence now.', 'end 3 --tenant t0123456789ab')
    .addArgument(new Argument('<silence>', 'number of the silence, as "list" says').argParser(id))
    .action(async (silence: number, flags: TenantFlags) => {
      const { endSilence } = await import('./alerts.ts')
      await endSilence(settings(), silence, flags)
    })
}
