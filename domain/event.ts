/** The event log. Source: service document, sections 2.9, 4.8 and 6. */
import { type Static, Type } from 'typebox'
import { codeSchema, EventSeverity, EventType, metadataOf } from './codes.ts'
import { cursorQuery } from './cursor.ts'
import { codeList, DateFilter, pageQuery } from './page.ts'
import { Id, Instant, objectWithExample, strictObject, Text } from './schema.ts'

export const Event = objectWithExample(
  {
    id: Id('Event id'),
    type: codeSchema(EventType, 'Event type'),
    severity: codeSchema(EventSeverity, 'Severity'),
    title: Type.String({ description: 'Short title' }),
    description: Type.String({ description: 'Detailed description' }),
    date: Instant('Time of the event'),
  },
  {
    id: 1,
    type: EventType.Connectivity,
    severity: EventSeverity.Info,
    title: 'SIM activated',
    description: 'SIM 8999900000000000017 (meter 17) was activated.',
    date: '2026-11-20T12:00:00.000Z',
  },
)
export type Event = Static<typeof Event>

/** The fields of an event that an operation writes. The store adds id and instant. */
export type NewEvent = Pick<Event, 'type' | 'severity' | 'title' | 'description'>

export const EventQuery = Type.Object({
  searchTerm: Type.Optional(Text('Part of the title or description, upper or lower case', 'activated')),
  date: Type.Optional(DateFilter),
  severity: Type.Optional(codeSchema(EventSeverity, 'Severity')),
  type: Type.Optional(codeSchema(EventType, 'Event type')),
  ...pageQuery,
  ...cursorQuery('events'),
})
export type EventQuery = Static<typeof EventQuery>

/** The list of severities is called `severty`: the interface's own spelling. */
export const EventMetadata = strictObject({
  type: codeList('Event types', EventType),
  severty: codeList('Severities', EventSeverity),
})
export const eventMetadata: Static<typeof EventMetadata> = {
  type: metadataOf(EventType),
  severty: metadataOf(EventSeverity),
}
