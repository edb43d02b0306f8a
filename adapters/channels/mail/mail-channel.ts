import type { Channel } from '../../../domain/channels/channel.ts'
import type { Notification } from '../../../domain/notifications/notification.ts'
import { type MailLinks, NO_LINKS } from './links.ts'
import { type Mail, renderMail } from './render-mail.ts'
import type { Transport } from './transport.ts'

/** Sends mails. A target is an address. */
export interface MailChannel extends Channel<Notification, string, Mail> {
  /** @param isCopy for a recipient that may not unsubscribe the tenant */
  readonly render: (notifications: readonly Notification[], isCopy?: boolean) => Mail
}

/** @param links as in {@link renderMail} */
export const mailChannel = (transport: Pick<Transport, 'send'>, links: MailLinks = NO_LINKS): MailChannel => ({
  render: (notifications, isCopy) => renderMail(notifications, links, isCopy),
  send: (mail, to, messageId) => transport.send({ ...mail, to, messageId }),
})
