/**
 * Puts a tenant's waiting notifications into mails, and stores each as rendered. From then on its text is the same at
 * any time of sending.
 */

import type { Address } from '../../domain/channels/address.ts'
import { isHold } from '../../domain/notifications/cause.ts'
import { mailWaits } from '../../domain/notifications/waits.ts'
import { cycleAt } from '../../domain/time/cycle.ts'
import { type OpenSilence, quietOf } from '../../rules/alerts/quiet.ts'
import {
  putOffNotifications,
  type StoredNotification,
  type WaitingNotification,
  waitingNotifications,
} from '../../store/notifications.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { openSilences } from '../alerts/rows/silences.ts'
import { findTenant } from '../tenants/rows/tenants.ts'
import { tenantSettings } from '../usage/rows/cycles.ts'
import { type MailPlan, planMails, type Waiting } from './plan-mails.ts'
import { addressingOf, type CopyTo } from './recipients-of.ts'
import { idsOf, type Render, renderBody } from './render-body.ts'
import { readAddresses } from './rows/addresses.ts'
import { forgetBodies, insertBody } from './rows/bodies.ts'
import { insertCopy, insertMail, lockMailWork, mailsSince } from './rows/mails.ts'

/** The most notifications looked at together, about ten megabytes. The others come next. */
const MOST_AT_ONCE = 5000
/** 13 months: a year of mails, and a month to ask about the oldest. */
const KEPT_MS = 396 * 86_400_000

/** Composes the mails that leave now. Does nothing while another worker does it, or while there is no address. */
export async function composeMails(tx: TenantTx, render: Render): Promise<void> {
  if (!(await lockMailWork(tx))) return
  const { billingEmail = '' } = (await findTenant(tx)) ?? {}
  if (billingEmail === '') return
  const now = tx.now.getTime()
  const { loud, silenced } = bySilence(await waitingNotifications(tx, MOST_AT_ONCE), await openSilences(tx))
  const { startsAt, endsAt } = cycleAt((await tenantSettings(tx)).billingCycle, now)
  const waits = mailWaits(endsAt - startsAt)
  const past = await mailsSince(tx, new Date(now - waits.stormMs))
  const plan = planMails(loud.map(waitingOf), past, waits, now)
  await putOffNotifications(tx, [...silenced, ...plan.putOff])
  const addresses = await readAddresses(tx)
  for (const mail of plan.mails) await compose(tx, render, mail, { billingEmail, addresses })
  await forgetBodies(tx, new Date(now - KEPT_MS))
}

/**
 * Separates silenced notifications from those to be sent. A hold of the guard needs a decision, so no silence holds it
 * back.
 */
function bySilence(waiting: readonly WaitingNotification[], silences: readonly OpenSilence[]) {
  const untilOf = ({ body, poolId, tag }: WaitingNotification): number | null => {
    if ((body.kind !== 'fired' && body.kind !== 'suspended') || isHold(body)) return null
    const subject = { kind: body.subject.kind, id: Number(body.subject.id) }
    return quietOf(silences, { rule: body.rule.name, level: body.level, subject, poolId, tag })?.until ?? null
  }
  const all = waiting.map((one) => ({ one, until: untilOf(one) }))
  return {
    loud: all.filter(({ until }) => until === null).map(({ one }) => one),
    silenced: all.flatMap(({ one, until }) => (until === null ? [] : [{ id: one.id, at: until }])),
  }
}

const waitingOf = ({ id, body, dueAt, createdAt }: WaitingNotification): Waiting => ({
  id,
  body,
  dueAt: dueAt.getTime(),
  createdAt: createdAt.getTime(),
})

/**
 * Makes a mail and stores its text; and a copy of it for each further address. Notifications that cannot be rendered
 * hold up no others: they get a separate mail, rendered when it is sent, and tried like any other.
 */
async function compose(
  tx: TenantTx,
  render: Render,
  { kind, parts }: MailPlan['mails'][number],
  { billingEmail, addresses }: { readonly billingEmail: string; readonly addresses: readonly Address[] },
): Promise<void> {
  const { rendered, good, faulty } = await renderBody(tx, render, parts)
  const { main, copies } = addressingOf(addresses, billingEmail, parts)
  const mail = { recipient: main?.email ?? billingEmail, addressId: main?.id ?? null, kind }
  const mailId = await insertMail(tx, mail, idsOf(good))
  if ('body' in rendered) {
    await insertBody(tx, mailId, rendered.body)
    if (copies.length > 0) await copyTo(tx, render, { mailId, copies }, good)
  }
  if (faulty.length > 0) await insertMail(tx, mail, idsOf(faulty))
}

async function copyTo(
  tx: TenantTx,
  render: Render,
  { mailId, copies }: { readonly mailId: string; readonly copies: readonly CopyTo[] },
  parts: readonly StoredNotification[],
): Promise<void> {
  const { rendered } = await renderBody(tx, (notifications) => render(notifications, true), parts)
  if ('error' in rendered) return
  for (const copy of copies) await insertCopy(tx, mailId, copy, rendered.body)
}
