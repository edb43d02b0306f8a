/**
 * Recorded histories as files: the names of their events for who reads them, and the history itself in protobuf,
 * because the SDK's own JSON form needs one copy of protobufjs, which an install does not always give it.
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
 * A line of test/histories/recorded.jsonl, which only grows: what a file was when it was recorded.
 * The last line of a file counts.
 */
export interface RecordedLine {
  readonly file: string
  /** Null: the file was taken away. */
  readonly sha256: string | null
  /** Why another history takes the place of an earlier one, whose runs users may have open. */
  readonly why?: string
}

export const digestOf = (file: string): string => createHash('sha256').update(file).digest('hex')
export const recordedLines = (text: string): RecordedLine[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
