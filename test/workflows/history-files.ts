/**
 * Recorded histories as files: the names of their events for who reads them, and the history itself in protobuf,
 * because the SDK's own JSON form needs one copy of protobufjs, which an install does not always give it.
 */
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
