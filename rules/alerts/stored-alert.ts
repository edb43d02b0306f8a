import type { SubjectKind } from '../../domain/watchdog/subject.ts'
import type { LeafExplanation } from '../engine/evaluate.ts'
import type { AlertState } from './state.ts'

/** The stored state of one alert. */
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
