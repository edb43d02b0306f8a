/** The effects of wishes in a timeline: tickets complete at once. Instants are epoch milliseconds. */
import { SimStatus } from '../../domain/codes.ts'
import { beginSuspension, step } from '../../domain/enforcement/suspension.ts'
import {
  ACTIVE,
  GO_ON,
  type SuspensionCommand,
  type SuspensionEvent,
  type SuspensionState,
} from '../../domain/enforcement/suspension-state.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { Wish } from '../alerts/decide-alert.ts'
import type { Permission } from '../alerts/permission.ts'
import { standsStill } from '../alerts/phases.ts'
import { pickTargets } from '../alerts/pick-sims.ts'
import type { Moment } from '../facts-of.ts'
import type { Rule } from '../rule.ts'
import { type Estate, pickable, setStatus, type TimelineSim } from './estate.ts'

export interface TimelineSuspension {
  readonly sim: string
  readonly rule: string
  readonly from: number
  /** Null: it lasts. */
  to: number | null
  /** Kind and id of the subject of the wishing alert. */
  readonly by: string
  readonly until: 'renewal' | 'manual'
}

/** The machine of a SIM that a rule suspends for a subject in the running cycle, or is about to. */
interface Run {
  readonly sim: TimelineSim
  readonly rule: Rule
  readonly by: string
  state: SuspensionState
  suspension: TimelineSuspension | null
}

/** An instant. `staleSince`: null if the usage feed is not stale. */
type When = Pick<Moment, 'at' | 'cycle'> & { readonly staleSince: number | null }

export interface WouldSuspension {
  readonly at: number
  readonly rule: string
  readonly sim: string
}

export interface EnforcementWish {
  readonly rule: Rule
  readonly subject: Subject
  readonly wish: Wish
  readonly permission: Permission['suspend']
}

export class Enforcement {
  readonly suspensions: TimelineSuspension[] = []
  readonly would: WouldSuspension[] = []
  /** SIMs that rules would have suspended in the cycle. */
  #logged = new Set<string>()
  #runs: Run[] = []
  readonly #estate: Estate

  constructor(estate: Estate) {
    this.#estate = estate
  }

  /** When the next time of grace ends; null if none runs. */
  get nextAt(): number | null {
    const instants = this.#runs.flatMap(({ state }) => state.graceEndsAt ?? [])
    return instants.length === 0 ? null : Math.min(...instants)
  }

  /** Carries out the wish of an alert. @returns whether the status of a SIM has changed */
  wish({ rule, subject, wish, permission }: EnforcementWish, when: When): boolean {
    if (wish === 'keep') return false
    const by = `${subject.kind}:${subject.id}`
    const runs = this.#runs.filter((run) => run.by === by && run.rule.name === rule.name)
    if (wish !== 'over' || permission !== 'do') {
      const would = wish === 'over' && permission === 'would' ? this.#targetsOf(rule, subject, when.cycle, true) : []
      for (const sim of would) {
        this.#logged.add(`${rule.name}/${sim.id}`)
        this.would.push({ at: when.at, rule: rule.name, sim: sim.name })
      }
      return this.#takeAll(runs, { type: 'signal', signal: wish === 'clear' ? 'cleared' : 'standDown' }, when)
    }
    const { grace = 'PT0S', until = 'renewal' } = rule.event.params.suspend ?? {}
    const order = { rule: rule.name, grace, until, cycleEndsAt: new Date(when.cycle.endsAt).toISOString() }
    const targets = this.#targetsOf(rule, subject, when.cycle, false)
    const fresh = targets.filter((sim) => !runs.some((run) => run.sim === sim))
    const begun = fresh.map((sim) => ({ sim, rule, by, state: beginSuspension(order, when.at), suspension: null }))
    this.#runs.push(...begun)
    return this.#takeAll([...runs, ...begun], { type: 'signal', signal: 'overLimit' }, when)
  }

  /** Suspends SIMs at the end of their grace. @returns whether any was suspended */
  suspendDue(when: When): boolean {
    const due = this.#runs.filter(({ state }) => state.graceEndsAt !== null && state.graceEndsAt <= when.at)
    return this.#takeAll(due, GO_ON, when)
  }

  /** Resumes SIMs at a new cycle that are suspended until then. */
  renew(at: number, cycle: Cycle): void {
    this.#takeAll(this.#runs, { type: 'signal', signal: 'renewed' }, { at, cycle, staleSince: null })
    this.#runs = []
    this.#logged = new Set()
  }

  /** A person gives a SIM a status: the watchdog leaves it alone for the cycle. */
  byPerson(sim: TimelineSim, status: SimStatus, at: number, cycle: Cycle): void {
    sim.heldIn = cycle.key
    for (const one of this.suspensions) if (one.sim === sim.name && one.to === null) one.to = at
    setStatus(sim, status, { at, cycle, by: 'user' })
    this.#runs = this.#runs.filter((run) => run.sim !== sim)
  }

  /** Gives machines an event, and carries out all that follows. @returns whether a SIM's status has changed */
  #takeAll(runs: readonly Run[], event: SuspensionEvent, when: When): boolean {
    const before = runs.map(({ sim }) => sim.status)
    for (const run of runs)
      for (let next: SuspensionEvent | null = event; next !== null; ) {
        const { state, commands } = step(run.state, next, when.at)
        run.state = state
        next = GO_ON
        for (const command of commands) next = this.#carryOut(run, command, when)
      }
    this.#runs = this.#runs.filter(({ state }) => state.isSuspended || state.at.on !== 'rest')
    return runs.some(({ sim }, n) => sim.status !== before[n])
  }

  /** @returns the answer; null if the machine waits or has ended */
  #carryOut(run: Run, command: SuspensionCommand, { at, cycle, staleSince }: When): SuspensionEvent | null {
    if (command.do === 'wait' || command.do === 'end') return null
    const { sim, rule, by, state } = run
    if (command.do === 'activate') {
      if (run.suspension !== null) run.suspension.to = at
      setStatus(sim, SimStatus.Active, { at, cycle, by: 'watchdog' })
      return ACTIVE
    }
    if (command.do !== 'suspend') return GO_ON
    const isStale = standsStill(rule, staleSince)
    if (isStale || !mayBeSuspended(sim, cycle))
      return { type: 'answered', answer: { do: 'refuse', why: isStale ? 'usage feed is stale' : 'not active' } }
    run.suspension = { sim: sim.name, rule: rule.name, from: at, to: null, by, until: state.until }
    this.suspensions.push(run.suspension)
    setStatus(sim, SimStatus.Suspended, { at, cycle, by: 'watchdog' })
    return { type: 'answered', answer: { do: 'stay' } }
  }

  #targetsOf(rule: Rule, subject: Subject, cycle: Cycle, isWould: boolean): TimelineSim[] {
    const { sims, pools } = this.#estate
    const isLogged = (id: number) => isWould && this.#logged.has(`${rule.name}/${id}`)
    const isOpen = (sim: TimelineSim) => mayBeSuspended(sim, cycle) && !isLogged(sim.id)
    if (subject.kind === 'sim') return sims.filter((sim) => sim.id === subject.id && isOpen(sim))
    const pool = pools.find(({ id }) => id === subject.id)
    if (subject.kind !== 'pool' || pool === undefined) return []
    const { overageBytes, rows } = pickable(this.#estate, pool, cycle)
    const asStopped = rows.map((row) => (isLogged(row.simId) ? { ...row, stopped: true } : row))
    const { targets } = pickTargets(rule.event.params.suspend?.target ?? 'self', overageBytes, asStopped)
    return targets.flatMap((id) => sims.find((sim) => sim.id === id && isOpen(sim)) ?? [])
  }
}

const mayBeSuspended = ({ status, exempt, heldIn }: TimelineSim, { key }: Cycle): boolean =>
  status === SimStatus.Active && !exempt && heldIn !== key
