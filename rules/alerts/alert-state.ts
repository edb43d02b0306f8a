/** The state of an alert: one for each rule, subject and scope. Stored as JSON. Instants are epoch milliseconds. */
import { Value } from 'typebox/value'
import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import type { LeafExplanation } from '../engine/evaluate-subject.ts'
import type { Moment } from '../facts-of.ts'
import type { Rule } from '../rule.ts'

/**
 *   inactive ──met──▶ pending ──`for` is over──▶ firing ──clear──▶ recovering ──`keepFiring` is over──▶ resolved ──met──▶ pending …
 *                          │                        ▲                  │
 *                          │                        └───────met────────┘
 *                          └──met no longer──▶ inactive (or resolved)
 *   pending, firing, recovering ──withdrawn──▶ resolved
 *
 * An alert that recovers still fires, for all but itself.
 */
export type AlertPhase = 'inactive' | 'pending' | 'firing' | 'recovering' | 'resolved'

/** The reason why a firing alert has no telling or wish. */
export type WithholdReason = 'silenced' | 'inhibited' | 'unsubscribed' | 'held' | 'nodata' | 'stage' | 'mode'

/** The guard's mark on an episode, by the last part of its keys. */
export interface GuardMark {
  readonly part: string
  readonly is: 'passed' | 'held' | 'discarded'
  /** Id of the hold; not for `passed`. */
  readonly hold?: number
}

/** The tellings to the operator for a rule in shadow. The last parts of keys, as in `told`. */
export interface ShadowMarks {
  readonly told: readonly string[]
  readonly mailed: readonly string[]
  /** When people were to be mailed that its episode fires. Absent: they were not. */
  readonly mailedAt?: number
  /** Part of the episode for which it would have suspended. Absent: none. */
  readonly suspended?: string
}

export interface AlertState {
  readonly phase: AlertPhase
  /** When the phase began. */
  readonly since: number
  /** Since when the time of its phase stands still. Absent: it passes. */
  readonly stillSince?: number
  /** Fingerprint of the rule that it is pending for. Absent in other phases. */
  readonly pendingFor?: string
  /** When the conditions of the present or last episode became met. Before the first: when it was first looked at. */
  readonly began: number
  /** How many times its conditions have become met; 0 before the first time. */
  readonly episode: number
  /** How often it fired again after its conditions had ended, for rules with `once: cycle`. Absent: 0. */
  readonly returns?: number
  /** Last part of the keys of the episode that fired last, also after its rule is gone. Empty before the first. */
  readonly part: string
  /** Highest step of its rule's ladder that its present or last episode has reached. Absent: its rule had none. */
  readonly step?: number
  /** When it reached that step after it had begun to fire. Absent: it began to fire there. */
  readonly steppedAt?: number
  /** Whether its last episode was reported and has ended by its conditions. */
  readonly hasEnded: boolean
  /** Its rule no longer covered the subject when it was last open. A return after that is not a new episode. */
  readonly withdrawn?: boolean
  /** The occurrence that it is pending or firing for. Only for rules with `once: occurrence`; otherwise null. */
  readonly occurrence: string | null
  /** Tellings to the watchdog log, newest last: `fired` or `resolved`, followed by the last part of the key. */
  readonly told: readonly string[]
  /** The same for mail. */
  readonly mailed: readonly string[]
  /** Its acknowledgement: time and person. Ends with the episode. Absent: not acknowledged. */
  readonly acknowledged?: { readonly at: number; readonly by: string | null }
  /** Why tellings or wishes are held back now. Absent: they are not. */
  readonly withheld?: readonly WithholdReason[]
  /** When people were to be mailed that its present or last episode fires. Absent: they were not. */
  readonly mailedAt?: number
  /** The guard's mark on its present episode. Absent: none, or its notice was mailed. */
  readonly guard?: GuardMark
  /** Absent: its rule is not in shadow, or would have done nothing yet. */
  readonly shadow?: ShadowMarks
  /** Why the latest evaluation could not decide the rule; null if it did. */
  readonly error: string | null
}

/** The state before a rule was first met. */
export const unseen = (now: number): AlertState => ({
  phase: 'inactive',
  since: now,
  began: now,
  episode: 0,
  part: '',
  hasEnded: false,
  occurrence: null,
  told: [],
  mailed: [],
  error: null,
})

/** Whether it fires, for all readers: a recovering alert has not ended. */
export const isFiring = ({ phase }: AlertState): boolean => phase === 'firing' || phase === 'recovering'

/** Whether something is still to come of it. */
export const isOpen = (state: AlertState): boolean => state.phase === 'pending' || isFiring(state)

/** Whether two states are equal, in any order of their fields: the database orders them differently. */
export const isSame = (one: AlertState, other: AlertState): boolean => Value.Equal(one, other)

/** Scope of an alert: the cycle's key if the rule starts again with each cycle, otherwise empty. */
export const scopeOf = (rule: Rule, cycleKey: string): string => (rule.cycleBound ? cycleKey : '')

export const scopesAt = ({ cycle, isEnded }: Moment): string[] => (isEnded ? [cycle.key] : [cycle.key, ''])

/** Whether a rule is decided at a moment. In an ended cycle, only rules that start again with each cycle are. */
export const isDecidedAt = ({ cycleBound }: Rule, { isEnded }: Moment): boolean => cycleBound || !isEnded

export interface StoredAlert {
  readonly rule: string
  readonly kind: SubjectKind
  readonly id: number
  /** The cycle's key for rules on cycle-bound facts, otherwise empty. */
  readonly scope: string
  readonly state: AlertState
  readonly firing: boolean
  readonly ruleVersion: number
  /** Instant of the facts that decided this state. */
  readonly evaluatedAt: Date
  /** The comparisons of its rule then. */
  readonly explanation: readonly LeafExplanation[]
  /** The last signal that enforcement sent for it, and when; null before the first. */
  readonly lastSignal: string | null
  readonly lastSignalAt: Date | null
}
