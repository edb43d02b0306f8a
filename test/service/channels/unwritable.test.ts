import { describe, expect, test } from 'vitest'
import type { MailChannel } from '../../../adapters/channels/mail/mail-channel.ts'
import { EventSeverity, LogLevel } from '../../../domain/codes.ts'
import { aStore } from '../../setup/estate.ts'
import { aPost, type Post, RETRIES, SECOND } from './post.ts'

const store = await aStore()

describe('a notification that cannot be rendered', () => {
  const ODD = 'odd'
  /** Renders as a build that knows the notification `ODD` only once `knows()` is true. */
  const renders = (post: Post, knows: () => boolean): MailChannel => ({
    ...post.mailer,
    render: (notifications) => {
      if (!knows() && notifications.some(({ key }) => key === ODD))
        throw new Error('a value the template does not have')
      return post.mailer.render(notifications)
    },
  })

  test('gets its own mail and blocks no other', async () => {
    const post = await aPost(store)
    await post.notify(post.notification(), post.notification(LogLevel.Critical, 0, ODD))
    let knows = false
    const mailer = renders(post, () => knows)

    await post.send(mailer)
    const without = Object.fromEntries((await post.mails()).map(({ status, keys }) => [status, keys]))
    knows = true
    store.now += 2 * SECOND
    await post.send(mailer)

    expect(without).toEqual({ sent: ['notice/0'], pending: [ODD] })
    expect((await post.arrived()).map(({ subject }) => subject)).toEqual([
      expect.stringContaining('notice/0'),
      expect.stringContaining(ODD),
    ])
  })

  test('is given up after the usual time', async () => {
    const post = await aPost(store)
    const mailer = renders(post, () => false)
    await post.notify(post.notification(LogLevel.Critical, 0, ODD))
    for (let attempt = 1; attempt <= 4; attempt++) {
      await post.notify(post.notification())
      await post.send(mailer)
      store.now += RETRIES.giveUpAfterMs / 3
    }

    expect((await post.mails()).map(({ status }) => status).toSorted()).toEqual(['failed', ...Array(4).fill('sent')])
    expect((await post.events()).filter(({ severity }) => severity === EventSeverity.Critical)).toMatchObject([
      { title: 'E-mail given up: notices that cannot be written' },
    ])
  })
})
