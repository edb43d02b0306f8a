/** The caller of a request, as recorded in the audit trail and in deliveries of usage. */
import { Type } from 'typebox'

export const Actor = Type.String({
  maxLength: 300,
  description:
    'Caller: key:<id>, cli:<user>@<host> for a command, service:<process> for the service itself, mail-link for a link in a mail',
  examples: ['key:6a34354728b4'],
})
export const KeyId = Type.String({ maxLength: 100, description: 'Id of the API key of the request' })
export const RequestId = Type.String({ maxLength: 128, description: 'X-Request-Id of the request' })
