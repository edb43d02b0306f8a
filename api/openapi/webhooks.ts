/** The events that the service sends to webhooks, in the document. Source: OpenAPI 3.1, `webhooks`; Standard Webhooks. */
import { SENT_EVENTS } from '../../domain/notifications/event.ts'
import { Instant } from '../../domain/schema.ts'
import { exampleOf } from './examples.ts'
import { isObject, type JsonObject, plain } from './json.ts'

const header = (name: string, description: string): JsonObject => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

const SIGNED = [
  header('webhook-id', 'Id of the event: the same whenever it is sent again'),
  header('webhook-timestamp', 'Time of this attempt, in seconds since 1970'),
  header('webhook-signature', 'Signatures by the rules of Standard Webhooks'),
]

/** By type: the POST that an endpoint gets. */
export const webhooks = (): JsonObject =>
  Object.fromEntries(
    Object.entries(SENT_EVENTS).map(([type, [reports, data]]) => {
      const schema = plain({
        type: 'object',
        properties: { type: { type: 'string', const: type }, timestamp: Instant('When it happened'), data },
        required: ['type', 'timestamp', 'data'],
      })
      const example = exampleOf(isObject(schema) ? schema : {})
      const content = { 'application/json': { schema, ...(example !== undefined && { example }) } }
      const post = {
        operationId: type.replaceAll(/[._](\w)/g, (_, letter: string) => letter.toUpperCase()),
        tags: ['Webhooks'],
        summary: reports,
        security: [],
        parameters: SIGNED,
        requestBody: { required: true, content },
        responses: {
          '2XX': { description: 'The event has arrived. Any other answer: it is sent again' },
          410: { description: 'The endpoint is disabled' },
        },
      }
      return [type, { post }]
    }),
  )
