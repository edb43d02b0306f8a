/**
 * Recorded histories as files: the names of the events for human readers, and the history itself in protobuf. The SDK's
 * own JSON form works only if exactly one copy of protobufjs is installed, which npm does not guarantee.
 */
import { createHash } from 'node:crypto'
import proto from '@temporalio/proto'

const { History } = proto.temporal.api.history.v1
type History = proto.temporal.api.history.v1.IHistory

export function writtenHistory(history: History): string {
  const events = (history.events ?? []).map((event) => {
    const activity = event.activityTaskScheduledEventAttributes?.activityType?.name
    const signal = event.workflowExecutionSignaledEventAttributes?.signalName
    const name = proto.temporal.api.enums.v1.EventType[event.eventType ?? 0]?.replace('EVENT_TYPE_', '')
    return [name, activity ?? signal].filter((part) => part !== undefined).join(' ')
  })
  return JSON.stringify({ events, history: Buffer.from(History.encode(history).finish()).toString('base64') }, null, 1)
}

export const readHistory = (file: string): History => History.decode(Buffer.from(JSON.parse(file).history, 'base64'))

/**
 * A line of test/histories/recorded.jsonl: a file's hash when it was recorded. Lines are only appended. The last line of
 * a file counts.
 */
export interface RecordedLine {
  readonly file: string
  /** Null: the file was removed. */
  readonly sha256: string | null
  /** Why a history replaces an earlier one, although users may have such runs open. */
  readonly why?: string
}

export const digestOf = (file: string): string => createHash('sha256').update(file).digest('hex')
export const recordedLines = (text: string): RecordedLine[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
