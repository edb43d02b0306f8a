/** The effects of wishes in a timeline: tickets complete at once. Instants are epoch milliseconds. */
import { SimStatus } from '../../domain/codes.ts'
import type { Cycle } from '../../domain/time/cycle.ts'
import { durationMs } from '../../domain/time/duration.ts'
import type { Subject } from '../../domain/watchdog/subject.ts'
import type { Wish } from '../alerts/decide.ts'
import type { Permission } from '../alerts/permission.ts'
import { pickTargets } from '../alerts/pick-sims.ts'
import { standsStill } from '../alerts/stand-still.ts'
import type { Rule } from '../rule.ts'
import { type Estate, pickable, type SimState, setStatus } from './estate.ts'

export interface Suspension {
  readonly sim: string
  readonly rule: string
  readonly from: number
  /** Null: it lasts. */
  to: number | null
  /** Kind and id of the subject of the wishing alert. */
  readonly by: string
  readonly until: 'renewal' | 'manual'
}

/** A SIM in its grace period. */
interface Armed {
  readonly sim: SimState
  readonly rule: Rule
  readonly by: string
  /** Null: it has passed while the usage feed was stale, and the SIM waits for the next wish. */
  dueAt: number | null
}

export interface Would {
  readonly at: number
  readonly rule: string
  readonly sim: string
}

export interface Wished {
  readonly rule: Rule
  readonly subject: Subject
  readonly wish: Wish
  readonly permission: Permission['suspend']
}

export class Enforcement {
  readonly suspensions: Suspension[] = []
  readonly would: Would[] = []
  /** SIMs that rules would have suspended in the cycle. */
  #logged = new Set<string>()
  #armed: Armed[] = []
  readonly #estate: Estate

  constructor(estate: Estate) {
    this.#estate = estate
  }

  /** When the next time of grace ends; null if none runs. */
  get nextAt(): number | null {
    const instants = this.#armed.flatMap(({ dueAt }) => dueAt ?? [])
    return instants.length === 0 ? null : Math.min(...instants)
  }

  /** Carries out the wish of an alert. @returns whether the status of a SIM has changed */
  wish({ rule, subject, wish, permission }: Wished, at: number, cycle: Cycle, staleSince: number | null): boolean {
    const by = `${subject.kind}:${subject.id}`
    const isOf = (one: { readonly rule: Rule | string; readonly by: string }) =>
      one.by === by && (typeof one.rule === 'string' ? one.rule : one.rule.name) === rule.name
    if (wish === 'keep') return false
    if (wish !== 'over' || permission !== 'do') this.#armed = this.#armed.filter((one) => !isOf(one))
    if (wish === 'clear') {
      return this.#bringBack((one) => isOf(one) && one.until === 'renewal', at, cycle)
    }
    if (wish !== 'over' || permission === 'no') return false
    const targets = this.#targetsOf(rule, subject, cycle, permission === 'would')
    if (permission === 'would') {
      for (const sim of targets) {
        this.#logged.add(`${rule.name}/${sim.id}`)
        this.would.push({ at, rule: rule.name, sim: sim.name })
      }
      return false
    }
    const dueAt = at + durationMs(rule.event.params.suspend?.grace ?? 'PT0S')
    for (const one of this.#armed) if (isOf(one)) one.dueAt ??= at
    const known = new Set(this.#armed.filter(isOf).map(({ sim }) => sim))
    this.#armed.push(...targets.filter((sim) => !known.has(sim)).map((sim) => ({ sim, rule, by, dueAt })))
    return this.suspendDue(at, cycle, staleSince)
  }

  /**
   * Suspends SIMs at the end of their grace. While the feed is stale, SIMs of rules that read usage wait.
   *
   * @param staleSince null: the feed is not stale
   * @returns whether any SIM was due
   */
  suspendDue(at: number, cycle: Cycle, staleSince: number | null): boolean {
    const isOver = ({ dueAt }: Armed) => dueAt !== null && dueAt <= at
    for (const one of this.#armed) if (isOver(one) && standsStill(one.rule, staleSince)) one.dueAt = null
    const due = this.#armed.filter(isOver)
    this.#armed = this.#armed.filter((one) => !isOver(one))
    const open = due.filter(({ sim }) => mayBeSuspended(sim, cycle))
    for (const { sim, rule, by } of open) {
      setStatus(sim, SimStatus.Suspended, at, cycle)
      const until = rule.event.params.suspend?.until ?? 'renewal'
      this.suspensions.push({ sim: sim.name, rule: rule.name, from: at, to: null, by, until })
    }
    return open.length > 0
  }

  /** Resumes SIMs at a new cycle that are suspended until then. */
  renew(at: number, cycle: Cycle): void {
    this.#armed = []
    this.#logged = new Set()
    this.#bringBack(({ until }) => until === 'renewal', at, cycle)
  }

  /** A person gives a SIM a status: the watchdog leaves it alone for the cycle. */
  byPerson(sim: SimState, status: SimStatus, at: number, cycle: Cycle): void {
    sim.heldIn = cycle.key
    for (const one of this.suspensions) if (one.sim === sim.name && one.to === null) one.to = at
    setStatus(sim, status, at, cycle)
  }

  #bringBack(isMeant: (one: Suspension) => boolean, at: number, cycle: Cycle): boolean {
    const back = this.suspensions.filter((one) => one.to === null && isMeant(one))
    for (const one of back) {
      one.to = at
      const sim = this.#estate.sims.find(({ name }) => name === one.sim)
      if (sim !== undefined) setStatus(sim, SimStatus.Active, at, cycle)
    }
    return back.length > 0
  }

  #targetsOf(rule: Rule, subject: Subject, cycle: Cycle, isWould: boolean): SimState[] {
    const { sims, pools } = this.#estate
    const isLogged = (id: number) => isWould && this.#logged.has(`${rule.name}/${id}`)
    const isOpen = (sim: SimState) => mayBeSuspended(sim, cycle) && !isLogged(sim.id)
    if (subject.kind === 'sim') return sims.filter((sim) => sim.id === subject.id && isOpen(sim))
    const pool = pools.find(({ id }) => id === subject.id)
    if (subject.kind !== 'pool' || pool === undefined) return []
    const { overageBytes, rows } = pickable(this.#estate, pool, cycle)
    const asStopped = rows.map((row) => (isLogged(row.simId) ? { ...row, stopped: true } : row))
    const { targets } = pickTargets(rule.event.params.suspend?.target ?? 'self', overageBytes, asStopped)
    return targets.flatMap((id) => sims.find((sim) => sim.id === id && isOpen(sim)) ?? [])
  }
}

const mayBeSuspended = ({ status, exempt, heldIn }: SimState, { key }: Cycle): boolean =>
  status === SimStatus.Active && !exempt && heldIn !== key
