/** What a herd must have come to whatever befell it on the way, and how many of it have not yet. */
import { provisionAndActivateId, suspendOnOverageId } from '../../domain/temporal/ids.ts'
import type { Mail } from '../../stack/inbox/mails.ts'
import type { Service } from '../setup/service.ts'
import { GROUPS, type Group, type Herd, type HerdSim } from './herd.ts'

interface Fate {
  /** SIM status at the end. */
  readonly status: number
  /** Its tickets in their order: each complete, and each one effect at the carrier. */
  readonly tickets: readonly string[]
  /** Of its suspend-on-overage, where it has one: whether it still runs, and how it ended or what it waits in. */
  readonly suspension?: { readonly runs: boolean; readonly where: string }
  /** Entries of the watchdog's log: what follows rule, SIM and cycle in their keys. */
  readonly log: readonly string[]
  /** Entries that are left out where the time for them passed while nobody was there to write them. */
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

/** Whole keys of log entries: of the group's rule, the SIM and the cycle. */
const keysOf = ({ cycle }: Herd, { id, group }: HerdSim, lasts: readonly string[]): string[] =>
  lasts.map((last) => `over-${group}/sim/${id}/${cycle}/${last}`)

export interface Middle {
  readonly size: number
  /** SIMs that are where they will be, with nothing open. */
  readonly settled: number
  readonly running: number
  readonly openTickets: number
  /** The others, by group. */
  readonly underWay: Readonly<Record<Group, number>>
}

/** How far the herd is. */
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

/** Whether nothing is left to be done; a word on what is, else. */
export async function unfinished(herd: Herd): Promise<string | undefined> {
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
  return unsent + unmailed > 0 ? `${unmailed} notices without a mail, ${unsent} mails not sent` : undefined
}

export interface Report {
  /** Everything that is not as it must be, by each witness. */
  readonly faults: readonly string[]
  /** How many workflows came to what. */
  readonly outcomes: string
  readonly tickets: number
  readonly effects: number
  readonly doubles: number
  /** Calls that the carrier failed without doing anything. */
  readonly failed: number
  /** Calls for what it had done already, because its answer had not come. */
  readonly repeated: number
  readonly wrongStates: number
  readonly mails: number
  readonly mailsTwice: number
}

const faultOf = (what: string, id: number | string, got: unknown, wanted: unknown): string[] =>
  JSON.stringify(got) === JSON.stringify(wanted)
    ? []
    : [`${what} ${id}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`]

/** Holds what each witness says against what must be. */
export async function reportOn(service: Service, herd: Herd): Promise<Report> {
  const { witnesses, sims } = herd
  const runs = await witnesses.runs()
  const tickets = await witnesses.tickets()
  const journal = await witnesses.carrier(new Set(sims.map(({ iccid }) => iccid)))
  const states = await wrongStates(herd)
  const log = await witnesses.log()
  const mails = await mailsOf(service, herd)
  const effects = journal.filter(({ outcome }) => outcome === 'done')
  const doubles = effects.length - new Set(effects.map(({ ticketId }) => ticketId)).size

  const faults = [...states, ...mails.faults]
  for (const { sim, fate } of fatesOf(herd)) {
    const own = tickets.filter(({ simId }) => simId === sim.id)
    const wanted = fate.tickets.map((kind) => `${kind} complete`)
    faults.push(
      ...faultOf(
        'tickets of SIM',
        sim.id,
        own.map(({ kind, status }) => `${kind} ${status}`),
        wanted,
      ),
    )
    // Each by its ticket, in the tickets' order: nothing twice, nothing left out, nothing that nobody asked for.
    const done = effects.filter(({ iccid }) => iccid === sim.iccid)
    const asked = own.map(({ id, kind }) => `${kind} ${id}`)
    faults.push(
      ...faultOf(
        'effects on SIM',
        sim.id,
        done.map((one) => `${one.operation} ${one.ticketId}`),
        asked,
      ),
    )
    const keys = log.filter(({ sim_id }) => Number(sim_id) === sim.id).map(({ key }) => key)
    const optional = new Set(keysOf(herd, sim, fate.mayLog ?? []))
    const firm = keys.filter((key) => !optional.has(key))
    faults.push(...faultOf('log of SIM', sim.id, firm.toSorted(), keysOf(herd, sim, fate.log).toSorted()))
  }
  const odd = journal.filter(({ outcome }) => outcome === 'already' || outcome === 'refused')
  faults.push(
    ...odd.map(({ outcome, operation, iccid }) => `the carrier was asked in vain: ${operation} ${iccid} ${outcome}`),
  )

  const wanted = new Map(
    fatesOf(herd).flatMap(({ sim, fate }) => {
      const { suspension } = fate
      const status = suspension?.runs ? 'RUNNING' : 'COMPLETED'
      return [
        ...(sim.group === 'fleet'
          ? [[provisionAndActivateId(herd.tenantId, sim.id), 'COMPLETED activated'] as const]
          : []),
        ...(suspension === undefined
          ? []
          : [[suspendOnOverageId(herd.tenantId, sim.id, herd.cycle), `${status} ${suspension.where}`] as const]),
      ]
    }),
  )
  const seen = new Map(runs.map(({ workflowId, status, where }) => [workflowId, `${status} ${where}`]))
  faults.push(...faultOf('workflows', herd.tenantId, seen.size, wanted.size))
  for (const [id, should] of wanted) faults.push(...faultOf('workflow', id, seen.get(id), should))
  faults.push(
    ...runs
      .filter(({ status, why }) => status === 'RUNNING' && why === '')
      .map((run) => `${run.workflowId} waits and does not say why`),
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

/** SIMs, their suspensions and the times they were Active, held against what their groups must have come to. */
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
    return [
      ...faultOf(`status of SIM (${group})`, id, lines.get(id)?.status, fate.status),
      ...faultOf(
        'suspensions of SIM',
        id,
        (suspensions.get(id) ?? []).map(({ cause, open }) => ({ cause, open })),
        suspended,
      ),
      ...faultOf(
        'active spans of SIM',
        id,
        (spans.get(id) ?? []).map(({ open }) => open),
        wasActive,
      ),
    ]
  })
}

/** Mails by the database and by the inbox. One that a killed worker was sending may come twice, as the same mail. */
async function mailsOf(service: Service, { billingEmail, witnesses }: Herd) {
  const notifications = await witnesses.notifications()
  const mails = await witnesses.mails()
  const received = (await service.mails()).filter(({ to }: Mail) => to.includes(billingEmail))
  const ids = received.map(({ headers }) => headers['message-id'] ?? '')
  const faults = [
    ...faultOf(
      'notices in no mail, of',
      billingEmail,
      notifications.filter(({ mail_id }) => mail_id === null),
      [],
    ),
    ...faultOf('mails received by', billingEmail, [...new Set(ids)].toSorted(), mails.map(({ id }) => id).toSorted()),
  ]
  return { faults, count: mails.length, twice: ids.length - new Set(ids).size }
}
