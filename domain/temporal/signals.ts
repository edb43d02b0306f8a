/** What running workflows can be told: Temporal's signals. */

/** Signals by the type of workflow that the id begins with. */
export const WORKFLOW_SIGNALS: Readonly<Record<string, readonly string[]>> = {
  'suspend-on-overage': [
    'overLimit',
    'cleared',
    'standDown',
    'personActed',
    'renewed',
    'guardReleased',
    'guardDiscarded',
  ],
  'enforce-pool': ['overLimit', 'cleared', 'standDown', 'guardReleased', 'guardDiscarded'],
}
