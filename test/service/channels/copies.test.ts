/** Which addresses a mail reaches beside the billing address. */
import { describe, expect, test } from 'vitest'
import { LogLevel } from '../../../domain/codes.ts'
import { addAddress, changeBillingAddress } from '../../../service/channels/change-addresses.ts'
import { aStore } from '../../setup/estate.ts'
import { anAlert } from '../../unit/channels/notifications.ts'
import { aPost, BILLING, messageId, type Post } from './post.ts'

const store = await aStore()
const [FIELD, NIGHT] = ['field@meadow.example', 'night@meadow.example']

const reached = async (post: Post) => (await post.arrived()).map(({ to }) => to).toSorted()
const copyTo = (post: Post, email: string, more: { level?: LogLevel; rules?: string } = {}) =>
  post.asTenant((tx) => addAddress(tx, { kind: 'copy', email, ...more }))

describe('a copy of a mail', () => {
  test('says the same, under a Message-ID of its own', async () => {
    const post = await aPost(store)
    await copyTo(post, FIELD)
    await post.sendOne()

    const [one, other] = await post.arrived()
    expect(await reached(post)).toEqual([BILLING, FIELD])
    // Who gets a copy does not unsubscribe the tenant.
    expect(other?.text).toBe(one?.text.replace(/^Unsubscribe .*\n\n/m, ''))
    expect(new Set([one, other].map((mail) => messageId(mail as never))).size).toBe(2)
  })

  test('goes only to those who want the level and the rule', async () => {
    const post = await aPost(store)
    await copyTo(post, FIELD, { level: LogLevel.Critical })
    await copyTo(post, NIGHT, { rules: 'no-such-*' })
    await post.notify(post.notification(LogLevel.Warning))
    await post.send()
    const warned = await reached(post)
    await post.sendOne()

    expect([warned, await reached(post)]).toEqual([[BILLING], [BILLING, BILLING, FIELD]])
  })
})

test('an escalation goes to the addresses for it; without one to billing', async () => {
  const post = await aPost(store)
  const escalate = async (key: string) => {
    await post.notify({ body: anAlert({ kind: 'escalated', key }), dueAt: new Date(store.now) })
    await post.send()
  }
  await escalate('a/escalated')
  const before = await reached(post)
  await post.asTenant((tx) => addAddress(tx, { kind: 'escalation', email: NIGHT }))
  await escalate('b/escalated')

  expect(before).toEqual([BILLING])
  expect(await reached(post)).toEqual([BILLING, NIGHT])
})
