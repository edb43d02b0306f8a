/** Parameters, headers and responses that operations refer to. */

import { IDEMPOTENCY_KEY } from '../../domain/http.ts'
import { PLATFORM } from '../../domain/tenants/tenant.ts'
import { sparedExample } from './examples.ts'
import type { Json, JsonObject } from './json.ts'
import { namedSchemas } from './named.ts'
import { headers, sharedResponses } from './responses.ts'

const text = (description: string, example: string, more: JsonObject = {}): JsonObject => ({
  description,
  schema: { type: 'string', ...more },
  example,
})
const count = (description: string, example: number): JsonObject => ({
  description,
  schema: { type: 'integer', minimum: 0 },
  example,
})
const parameter = (name: string, description: string, example: string, more: JsonObject = {}) => {
  const schema = { type: 'string', ...more }
  return { [name]: { in: 'header', name, required: false, description, schema, examples: sparedExample(example) } }
}
/** For a header that a response always has. */
const always = (content: JsonObject): JsonObject => ({ required: true, ...content })

const ETAG = '"3.kq0PuXbN3hK1yqVf"'
const PARAMETERS: JsonObject = {
  ...parameter(
    'X-Tenant-Id',
    `Tenant of the request, or for operations on the platform itself ${PLATFORM}. Only required with an operator key.`,
    'tf622080bc0a0',
  ),
  ...parameter(
    'Idempotency-Key',
    'A request is done once for each key; repetitions get the same answer for 24 hours. 1 to 255 printable ' +
      'characters, bare or in double quotes, for example a UUID.',
    '2d0f8f3e-6c1b-4a57-9a5e-0b7a53c1f0aa',
    { pattern: IDEMPOTENCY_KEY.source },
  ),
  ...parameter('If-Match', 'The `ETag` of the resource as read: 412 if it has changed since.', ETAG),
  ...parameter('If-None-Match', 'The `ETag` of your copy: 304 without a body if unchanged.', ETAG),
}

const HEADERS: JsonObject = {
  'X-Request-Id': always(
    text('Id of this request in the logs; yours, if you sent one.', '5c2f0b1e-0d0f-4c53-9d0e-3d1b6c6d9a10'),
  ),
  'WWW-Authenticate': always(text('How to send a key.', 'Bearer realm="simherd"')),
  Accept: text('After a refused content type or charset: the content types that this path takes.', 'application/json'),
  'Accept-Encoding': text(
    'After a refused coding: the coding that this path takes; `identity`: no coding.',
    'identity',
    { enum: ['gzip', 'identity'] },
  ),
  'Retry-After': count('Seconds to wait before the next attempt.', 5),
  Link: text(
    'Links to the next part of the list (`rel="next"`, by `cursor`; absent at its end), and from the second ' +
      'part on to the first (`rel="first"`). RFC 8288.',
    '</api/sims?cursor=s00000000000000000000000000640000000100000fa0>; rel="next"',
  ),
  ETag: always(text('Identifies this state of the resource: `"<version>.<digest>"`.', ETAG)),
  'ratelimit-limit': count('Requests the key may make in a minute; absent without a limit.', 600),
  'ratelimit-remaining': count('Requests left in this minute.', 583),
  'ratelimit-reset': count('Seconds until the count restarts.', 42),
  'Idempotency-Replayed': text('`true` if the answer is the stored one of an earlier request with this key.', 'true', {
    enum: ['true'],
  }),
}

const NotModified: JsonObject = {
  description: 'Unchanged since the state in `If-None-Match`; no body.',
  headers: headers('X-Request-Id', 'ETag'),
}

/** The parts that the operations refer to, directly or through another part. */
export function componentsFor(paths: Json): JsonObject {
  const all: Readonly<Record<string, JsonObject>> = {
    schemas: namedSchemas(),
    parameters: PARAMETERS,
    headers: HEADERS,
    responses: { NotModified, ...sharedResponses() },
  }
  const found: Record<string, JsonObject> = {}
  const pending = [JSON.stringify(paths)]
  for (let text = pending.pop(); text !== undefined; text = pending.pop()) {
    for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g)) {
      const part = all[kind]?.[name]
      const parts = (found[kind] ??= {})
      if (part === undefined || name in parts) continue
      parts[name] = part
      pending.push(JSON.stringify(part))
    }
  }
  return found
}
