/** `simherd webhooks …`: the commands and their options. */
import { Argument, type Command, Option } from 'commander'
import { WEBHOOK_EVENTS } from '../../domain/notifications/event.ts'
import type { Settings } from '../../process/settings.ts'
import { ASKS } from '../help-text.ts'
import { id } from '../option-values.ts'
import type { TenantFlags } from './enforcement.ts'
import type { AddFlags, DeliveryFlags } from './webhooks.ts'

/** @param settings reads the settings; called when a command needs them */
export function addWebhookCommands(program: Command, settings: () => Settings): void {
  const webhooks = program
    .command('webhooks')
    .description("Where a tenant's events are sent, signed as Standard Webhooks has it, and what became of each.")
  const ofTenant = (name: string, description: string, example: string) =>
    webhooks
      .command(name)
      .description(description)
      .requiredOption('--tenant <id>', 'the tenant')
      .addHelpText('after', `\n${ASKS}\n\nExample:\n  npx simherd webhooks ${example}`)
  const webhook = () => new Argument('<webhook>', 'number of the webhook, as "list" says').argParser(id)

  ofTenant('list', 'Webhooks, the newest first.', 'list --tenant t0123456789ab').action(async (flags: TenantFlags) => {
    const { listWebhooks } = await import('./webhooks.ts')
    await listWebhooks(settings(), flags)
  })
  ofTenant(
    'add',
    'Send events to a URL, from now on. Its secret is shown this once.',
    'add https://ops.meadow.example/simherd --tenant t0123456789ab --events alert.fired alert.resolved',
  )
    .argument('<url>', 'where to, https')
    .addOption(new Option('--events <types...>', 'only these; without it all').choices(WEBHOOK_EVENTS))
    .option('--description <text>', 'what it is for')
    .action(async (url: string, flags: AddFlags) => {
      const { addWebhook } = await import('./webhooks.ts')
      await addWebhook(settings(), url, flags)
    })
  ofTenant(
    'rotate',
    'Give a webhook a new secret, which is shown this once. The one before signs too for 24 hours.',
    'rotate 3 --tenant t0123456789ab',
  )
    .addArgument(webhook())
    .action(async (number: number, flags: TenantFlags) => {
      const { rotateWebhook } = await import('./webhooks.ts')
      await rotateWebhook(settings(), number, flags)
    })
  ofTenant('test', 'Send a test, and say what came of it.', 'test 3 --tenant t0123456789ab')
    .addArgument(webhook())
    .action(async (number: number, flags: TenantFlags) => {
      const { testWebhook } = await import('./webhooks.ts')
      await testWebhook(settings(), number, flags)
    })
  ofTenant(
    'deliveries',
    'Deliveries to a webhook, the newest first.',
    'deliveries 3 --tenant t0123456789ab --status failed',
  )
    .addArgument(webhook())
    .addOption(new Option('--status <status>', 'only these').choices(['pending', 'delivered', 'failed']))
    .action(async (number: number, flags: DeliveryFlags) => {
      const { listDeliveries } = await import('./webhooks.ts')
      await listDeliveries(settings(), number, flags)
    })
  ofTenant(
    'replay',
    'Send an event again, or at once where it waits, under the same webhook-id.',
    'replay 3 1207 --tenant t0123456789ab',
  )
    .addArgument(webhook())
    .addArgument(new Argument('<delivery>', 'number of the delivery, as "deliveries" says').argParser(id))
    .action(async (number: number, delivery: number, flags: TenantFlags) => {
      const { replayDelivery } = await import('./webhooks.ts')
      await replayDelivery(settings(), number, delivery, flags)
    })
  ofTenant('disable', 'Send nothing any more; what waits is given up.', 'disable 3 --tenant t0123456789ab')
    .addArgument(webhook())
    .action(async (number: number, flags: TenantFlags) => {
      const { disableWebhook } = await import('./webhooks.ts')
      await disableWebhook(settings(), number, flags)
    })
  ofTenant('enable', 'Send events again, from now on.', 'enable 3 --tenant t0123456789ab')
    .addArgument(webhook())
    .action(async (number: number, flags: TenantFlags) => {
      const { enableWebhook } = await import('./webhooks.ts')
      await enableWebhook(settings(), number, flags)
    })
  ofTenant('remove', 'Remove a webhook, with the log of its deliveries.', 'remove 3 --tenant t0123456789ab')
    .addArgument(webhook())
    .action(async (number: number, flags: TenantFlags) => {
      const { removeWebhook } = await import('./webhooks.ts')
      await removeWebhook(settings(), number, flags)
    })
}
