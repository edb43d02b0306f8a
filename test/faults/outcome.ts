/** The state that a herd must reach whatever the fault, and how far it is. */
import { provisionAndActivateId, suspendOnOverageId } from '../../domain/temporal/ids.ts'
import type { InboxMail } from '../../stack/inbox/mails.ts'
import { until } from '../setup/soon.ts'
import { GROUPS, type Group, type Herd, type HerdSim } from './herd.ts'

interface Fate {
  /** SIM status at the end. */
  readonly status: number
  /** Its tickets in order. Each is complete and had one effect at the carrier. */
  readonly tickets: readonly string[]
  /** Its suspend-on-overage, if it has one: whether that still runs, and its phase or its outcome. */
  readonly suspension?: { readonly runs: boolean; readonly where: string }
  /** Entries of the watchdog's log: the end of their keys, after rule, SIM and cycle. */
  readonly log: readonly string[]
  /** Entries that may be missing, if no worker ran when they were due. */
  readonly mayLog?: readonly string[]
}

const ACTIVE = 1
const SUSPENDED = 2
const FATES: Readonly<Record<Group, Fate>> = {
  fleet: { status: ACTIVE, tickets: ['provision', 'activate'], log: [] },
  late: {
    status: SUSPENDED,
    tickets: ['provision', 'activate', 'suspend'],
    suspension: { runs: true, where: 'suspended' },
    log: ['fired', 'suspended/0'],
  },
  grace: {
    status: SUSPENDED,
    tickets: ['provision', 'activate', 'sendSms', 'suspend'],
    suspension: { runs: true, where: 'suspended' },
    log: ['fired', 'graceStarted/0', 'suspended/0'],
    mayLog: ['graceEnding/0'],
  },
  cleared: {
    status: ACTIVE,
    tickets: ['provision', 'activate', 'suspend', 'activate'],
    suspension: { runs: true, where: 'idle' },
    log: ['fired', 'suspended/0', 'resolved', 'broughtBack/0'],
  },
  taken: {
    status: ACTIVE,
    tickets: ['provision', 'activate', 'suspend', 'activate'],
    suspension: { runs: false, where: 'personActed' },
    log: ['fired', 'suspended/0'],
  },
}

const fatesOf = (herd: Herd) => herd.sims.map((sim) => ({ sim, fate: FATES[sim.group] }))
const of = <T>(herd: Herd, count: (fate: Fate) => T[] | T | undefined): T[] =>
  fatesOf(herd).flatMap(({ fate }) => count(fate) ?? [])

/** Whole keys of log entries: with the group's rule, the SIM and the cycle. */
const keysOf = ({ cycle }: Herd, { id, group }: HerdSim, lasts: readonly string[]): string[] =>
  lasts.map((last) => `over-${group}/sim/${id}/${cycle}/${last}`)

export interface Middle {
  readonly size: number
  /** SIMs with their final status and no open ticket. */
  readonly settled: number
  readonly running: number
  readonly openTickets: number
  /** SIMs that are not settled, by group. */
  readonly underWay: Readonly<Record<Group, number>>
}

/** The herd's progress. */
export async function lookAt(herd: Herd): Promise<Middle> {
  const { witnesses } = herd
  const lines = await witnesses.lines()
  const isSettled = ({ id, group }: HerdSim) => {
    const line = lines.get(id)
    return line?.open === 0 && line.status === FATES[group].status
  }
  const underWay = (group: Group) => herd.sims.filter((sim) => sim.group === group && !isSettled(sim)).length
  return {
    size: herd.sims.length,
    settled: herd.sims.filter(isSettled).length,
    running: (await witnesses.running('provision-and-activate')) + (await witnesses.running('suspend-on-overage')),
    openTickets: [...lines.values()].reduce((sum, { open }) => sum + open, 0),
    underWay: Object.fromEntries(GROUPS.map((group) => [group, underWay(group)])) as Middle['underWay'],
  }
}

/** Waits until everything is done. @param meanwhile done before each look @throws Error that says what is not done */
export async function untilDone(herd: Herd, seconds: number, meanwhile?: () => Promise<void>): Promise<void> {
  const isDone = async () => {
    await meanwhile?.()
    const left = await unfinished(herd)
    if (left !== undefined) throw new Error(left)
    return true
  }
  await until('the end of all work', isDone, seconds)
}

/** What is not done yet; undefined if everything is done. */
async function unfinished(herd: Herd): Promise<string | undefined> {
  const { witnesses, sims } = herd
  const { settled, openTickets } = await lookAt(herd)
  if (settled < sims.length) return `${settled} of ${sims.length} are settled, ${openTickets} tickets open`
  const requests = await witnesses.requestsLeft()
  if (requests > 0) return `${requests} requests to workflows are left`
  const provisioning = await witnesses.running('provision-and-activate')
  if (provisioning > 0) return `${provisioning} provisionings run`
  const waiting = await witnesses.running('suspend-on-overage')
  const due = of(herd, ({ suspension }) => suspension).filter(({ runs }) => runs).length
  if (waiting !== due) return `${waiting} suspensions run, not ${due}`
  const logged = new Set((await witnesses.log()).map(({ key }) => key))
  const unlogged = fatesOf(herd).flatMap(({ sim, fate }) =>
    keysOf(herd, sim, fate.log).filter((key) => !logged.has(key)),
  )
  if (unlogged.length > 0) return `${unlogged.length} log entries are missing, such as ${unlogged[0]}`
  const mails = await witnesses.mails()
  const unsent = mails.filter(({ status }) => status !== 'sent').length
  const unmailed = (await witnesses.notifications()).filter(({ mail_id }) => mail_id === null).length
  return unsent + unmailed > 0 ? `${unmailed} notifications without a mail, ${unsent} mails not sent` : undefined
}

export interface Report {
  /** Everything that differs from the expected state, by all witnesses. */
  readonly faults: readonly string[]
  /** The number of workflows by outcome. */
  readonly outcomes: string
  readonly tickets: number
  readonly effects: number
  readonly doubles: number
  /** Calls that failed at the carrier without an effect. */
  readonly failed: number
  /** Repeated calls of a ticket that the carrier had already executed: its response had not arrived. */
  readonly repeated: number
  readonly wrongStates: number
  readonly mails: number
  readonly mailsTwice: number
}

const faultOf = (what: string, id: number | string, got: unknown, wanted: unknown): string[] =>
  JSON.stringify(got) === JSON.stringify(wanted)
    ? []
    : [`${what} ${id}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`]

/**
 * Compares what each witness reports with the expected state.
 *
 * @param received the mails that arrived, also those to others
 */
export async function reportOn(herd: Herd, received: readonly InboxMail[]): Promise<Report> {
  const { witnesses, sims } = herd
  const runs = await witnesses.runs()
  const tickets = await witnesses.tickets()
  const journal = await witnesses.carrier(new Set(sims.map(({ iccid }) => iccid)))
  const states = await wrongStates(herd)
  const log = await witnesses.log()
  const mails = await mailsOf(herd, received)
  const effects = journal.filter(({ outcome }) => outcome === 'done')
  const doubles = effects.length - new Set(effects.map(({ ticketId }) => ticketId)).size

  const faults = [...states, ...mails.faults]
  for (const { sim, fate } of fatesOf(herd)) {
    const own = tickets.filter(({ simId }) => simId === sim.id)
    const kinds = own.map(({ kind, status }) => `${kind} ${status}`)
    const wanted = fate.tickets.map((kind) => `${kind} complete`)
    faults.push(...faultOf('tickets of SIM', sim.id, kinds, wanted))
    // One effect for each ticket, in the tickets' order: none twice, none missing, none without a ticket.
    const mine = effects.filter(({ iccid }) => iccid === sim.iccid)
    const done = mine.map(({ operation, ticketId }) => `${operation} ${ticketId}`)
    const expected = own.map(({ id, kind }) => `${kind} ${id}`)
    faults.push(...faultOf('effects on SIM', sim.id, done, expected))
    const keys = log.filter(({ sim_id }) => Number(sim_id) === sim.id).map(({ key }) => key)
    const optional = new Set(keysOf(herd, sim, fate.mayLog ?? []))
    const firm = keys.filter((key) => !optional.has(key))
    faults.push(...faultOf('log of SIM', sim.id, firm.toSorted(), keysOf(herd, sim, fate.log).toSorted()))
  }
  const odd = journal.filter(({ outcome }) => outcome === 'already' || outcome === 'refused')
  faults.push(
    ...odd.map(({ outcome, operation, iccid }) => `needless call to the carrier: ${operation} ${iccid} ${outcome}`),
  )

  const wanted = new Map(
    fatesOf(herd).flatMap(({ sim, fate }) => {
      const { suspension } = fate
      const state = `${suspension?.runs ? 'RUNNING' : 'COMPLETED'} ${suspension?.where}`
      const provisioning = [provisionAndActivateId(herd.tenantId, sim.id), 'COMPLETED activated'] as const
      const suspending = [suspendOnOverageId(herd.tenantId, sim.id, herd.cycle), state] as const
      return [...(sim.group === 'fleet' ? [provisioning] : []), ...(suspension === undefined ? [] : [suspending])]
    }),
  )
  const seen = new Map(runs.map(({ workflowId, status, where }) => [workflowId, `${status} ${where}`]))
  faults.push(...faultOf('workflows', herd.tenantId, seen.size, wanted.size))
  for (const [id, should] of wanted) faults.push(...faultOf('workflow', id, seen.get(id), should))
  faults.push(
    ...runs
      .filter(({ status, why }) => status === 'RUNNING' && why === '')
      .map((run) => `${run.workflowId} waits without a reason`),
  )

  return {
    faults,
    outcomes: [...Map.groupBy(seen.values(), (word) => word.split(' ')[1])]
      .map(([word, all]) => `${all.length} ${word}`)
      .join(', '),
    tickets: tickets.length,
    effects: effects.length,
    doubles,
    failed: journal.filter(({ outcome }) => outcome === 'failed').length,
    repeated: journal.filter(({ outcome }) => outcome === 'duplicate').length,
    wrongStates: states.length,
    mails: mails.count,
    mailsTwice: mails.twice,
  }
}

/** Differences between the expected state and SIMs, their suspensions and their active spans. */
async function wrongStates(herd: Herd): Promise<string[]> {
  const { witnesses } = herd
  const lines = await witnesses.lines()
  const suspensions = Map.groupBy(await witnesses.suspensions(), ({ sim_id }) => Number(sim_id))
  const spans = Map.groupBy(await witnesses.spans(), ({ sim_id }) => Number(sim_id))
  return fatesOf(herd).flatMap(({ sim: { id, group }, fate }) => {
    const isActive = fate.status === ACTIVE
    const suspended = fate.suspension === undefined ? [] : [{ cause: 'watchdog', open: !isActive }]
    const wasActive = fate.tickets
      .filter((kind) => kind === 'activate')
      .map((_, n, all) => isActive && n === all.length - 1)
    const causes = suspensions.get(id)?.map(({ cause, open }) => ({ cause, open })) ?? []
    const active = spans.get(id)?.map(({ open }) => open) ?? []
    return [
      ...faultOf(`status of SIM (${group})`, id, lines.get(id)?.status, fate.status),
      ...faultOf('suspensions of SIM', id, causes, suspended),
      ...faultOf('active spans of SIM', id, active, wasActive),
    ]
  })
}

/** Mails in the database and in the inbox. A mail that a killed worker was sending may arrive twice, with one message id. */
async function mailsOf({ billingEmail, witnesses }: Herd, arrived: readonly InboxMail[]) {
  const notifications = await witnesses.notifications()
  const mails = await witnesses.mails()
  const received = arrived.filter(({ to }) => to.includes(billingEmail))
  const ids = received.map(({ headers }) => headers['message-id'] ?? '')
  const unmailed = notifications.filter(({ mail_id }) => mail_id === null)
  const faults = [
    ...faultOf('notifications without a mail, of', billingEmail, unmailed, []),
    ...faultOf('mails received by', billingEmail, [...new Set(ids)].toSorted(), mails.map(({ id }) => id).toSorted()),
  ]
  return { faults, count: mails.length, twice: ids.length - new Set(ids).size }
}
