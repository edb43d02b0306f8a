import type { Subject } from '../../../domain/watchdog/subject.ts'
import { unseen } from '../../../rules/alerts/alert-state.ts'
import type { saveAlerts } from '../../../service/alerts/rows/alerts.ts'

type SavedAlert = Parameters<typeof saveAlerts>[1][number]

/** An alert as an evaluation leaves it that fires and has sent no signal. @param also other values */
export const anAlert = (
  { kind, id }: Subject,
  also: Pick<SavedAlert, 'rule' | 'scope' | 'evaluatedAt'> & Partial<SavedAlert>,
): SavedAlert => ({
  kind,
  id,
  firing: true,
  state: unseen(0),
  ruleVersion: 1,
  explanation: [],
  lastSignal: null,
  lastSignalAt: null,
  ...also,
})
