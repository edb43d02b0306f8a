/** Types and states of workflows in words for people. */
import type { WorkflowType } from '../temporal/ids.ts'

export const TYPE_WORDS: Readonly<Record<WorkflowType, string>> = {
  'provision-and-activate': 'Provision and activate',
  'provision-in-bulk': 'Provision in bulk',
  'suspend-on-overage': 'Suspend on overage',
  'enforce-pool': 'Enforce a pool',
  'undo-suspensions': 'Undo suspensions',
  'month-end-reprovision': 'Month end',
  'month-end-batch': 'Batch of a month end',
  'month-end-timer': 'Month ends by schedule',
}
/** By the word in the search attribute SimherdState: lasting states, and outcomes. */
export const STATE_WORDS: Readonly<Record<string, string>> = {
  idle: 'Waits for an overage',
  grace: 'In its grace period',
  held: 'Held by the guard',
  suspended: 'SIM suspended',
  renewed: 'Brought back with the new cycle',
  released: 'Not suspended',
  resumed: 'Brought back by a person',
  personActed: 'A person acted on the SIM',
  manual: 'Suspended until a person acts',
  over: 'Pool over its capacity',
  under: 'Pool within its capacity',
  ended: 'Cycle ended',
  activated: 'SIM active',
  alreadyActive: 'SIM was active already',
  compensating: 'Undoes its steps',
  compensated: 'Failed, and undone',
  waiting: 'Waits for the end of the cycle',
  unassign: 'Unassigns SIMs',
  move: 'Moves SIMs',
  renew: 'Brings SIMs back',
  settle: 'Waits for tickets',
  close: 'Closes the cycle',
  running: 'Under way',
  done: 'Done',
  doneWithFailures: 'Done, with failures',
  cancelled: 'Cancelled',
  failed: 'Failed',
}
/** By a phase or a step that passes: lists do not show it. */
export const PASSING_WORDS: Readonly<Record<string, string>> = {
  suspending: 'Suspends the SIM',
  activating: 'Activates the SIM',
  checking: 'Looks at the SIM',
  provisioning: 'Provisions the SIM',
}
