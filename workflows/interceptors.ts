/** A one-line summary for each activity and timer in Temporal's UI: its object, or the reason of the wait. */
import { type WorkflowInterceptors, workflowInfo } from '@temporalio/workflow'
import { waitText } from './run/timeline.ts'

/** Characters in a summary. The server takes 400 bytes, and a character may take three. */
const LONGEST = 130
const short = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text)

/** The worker loads this with the workflows, by this name. */
export const interceptors = (): WorkflowInterceptors => ({
  outbound: [
    {
      scheduleActivity: (input, next) => {
        const summary = summaryOf(input.args[0])
        return next(summary === '' ? input : { ...input, options: { ...input.options, summary: short(summary) } })
      },
      startTimer: (input, next) => {
        const summary = input.options?.summary ?? waitText()
        return next(summary === null ? input : { ...input, options: { ...input.options, summary: short(summary) } })
      },
    },
  ],
})

const fieldOf = (ask: unknown, name: string): unknown =>
  typeof ask === 'object' && ask !== null ? Reflect.get(ask, name) : undefined

/** Input fields that name an activity's object, and the words before each. */
const WORDS = [
  ['kind', ''],
  ['from', ''],
  ['action', ''],
  ['signal', 'signal '],
  ['name', 'signal '],
  ['simId', 'SIM '],
  ['poolId', 'pool '],
  ['afterSimId', 'SIMs above '],
  ['throughSimId', 'up to '],
  ['ticketId', 'ticket '],
  ['workflowId', ''],
  ['batchId', 'batch '],
  ['rule', 'rule '],
  ['cycleKey', 'cycle '],
] as const

/** Lists whose length is shown. */
const COUNTED = [
  ['simIds', 'SIMs'],
  ['workflowIds', 'workflows'],
  ['suspensions', 'SIMs'],
] as const

function summaryOf(ask: unknown): string {
  const parts = [ask, fieldOf(ask, 'ticket'), fieldOf(ask, 'entry')]
  const found = (name: string) => parts.map((part) => fieldOf(part, name)).find((value) => value != null)
  // A run's history does not need the run's workflow id.
  const own = workflowInfo().workflowId
  const named = WORDS.flatMap(([name, words]) => {
    const value = found(name)
    return (typeof value === 'string' && value !== own) || typeof value === 'number' ? [`${words}${value}`] : []
  })
  const counted = COUNTED.flatMap(([name, words]) => {
    const value = found(name)
    return Array.isArray(value) ? [`${value.length} ${words}`] : []
  })
  return [...named, ...counted].join(' ')
}
