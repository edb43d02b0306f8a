import { Event, EventMetadata, EventQuery, eventMetadata } from '../../domain/event.ts'
import { pageOf } from '../../domain/page.ts'
import { findEvent, pageOfEvents } from '../../store/events.ts'
import { publicRoutes } from '../http/declare-routes.ts'
import { answersVersion } from '../http/etag.ts'
import { EventParams } from '../http/params.ts'
import { mustBeFound } from '../http/problems.ts'

const route = publicRoutes('Events')

export const eventRoutes = [
  route('GET', '/events', {
    operationId: 'listEvents',
    summary: 'Connectivity changes, billing alerts and platform notices, newest first',
    description: 'Newest first; items match every given filter.',
    query: EventQuery,
    response: { 200: pageOf(Event) },
    cursor: 'events',
    walk: (tx, { query }) => pageOfEvents(tx, query),
  }),
  route('GET', '/events/metadata', {
    operationId: 'getEventMetadata',
    summary: 'Labels of event types and severities',
    description: 'The codes of `type` and, under the name `severty`, of `severity`, each with its label.',
    response: { 200: EventMetadata },
    handle: async () => eventMetadata,
  }),
  route('GET', '/events/:id', {
    operationId: 'getEvent',
    summary: 'An event by id',
    description: 'Events are never changed.',
    problems: ['event_not_found'],
    versioned: true,
    params: EventParams,
    response: { 200: Event },
    read: async (tx, { params }, { reply }) => {
      const event = mustBeFound(await findEvent(tx, params.id), 'event_not_found', `event ${params.id}`)
      answersVersion(reply, 1)
      return event
    },
  }),
]
