/** The channels of endpoints, by name. */
import type { EndpointChannels } from '../../domain/channels/channel.ts'
import { type WebhookChannelOptions, webhookChannel } from './webhook/webhook-channel.ts'

export const endpointChannels = (options: WebhookChannelOptions): EndpointChannels => ({
  webhook: webhookChannel(options),
})
