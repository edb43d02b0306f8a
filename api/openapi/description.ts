/** Builds the OpenAPI 3.1 document from the schemas that validate requests. Also describes the kinds of problem. */
import swagger from '@fastify/swagger'
import { Type } from 'typebox'
import { ERROR_CODES, ERRORS, isErrorCode, ServiceError } from '../../domain/errors.ts'
import packageJson from '../../package.json' with { type: 'json' }
import type { App } from '../http/app.ts'
import { serveFixed } from '../http/fixed-answer.ts'
import { componentsFor } from './components.ts'
import { plain } from './json.ts'
import { withReferences } from './named.ts'
import { completed } from './operations.ts'
import type { Declaration } from './responses.ts'
import { webhooks } from './webhooks.ts'
import { INTERNAL, PUBLIC } from './words.ts'

/** Describes the routes registered after this call, and serves the description at `/openapi.json`. */
export async function useOpenapi(app: App, listener: 'public' | 'internal'): Promise<void> {
  const { title, description, tags } = listener === 'public' ? PUBLIC : INTERNAL
  const declared = new Map<string, Declaration>()
  app.addHook('onRoute', ({ schema, config }) => {
    if (schema?.operationId !== undefined)
      declared.set(schema.operationId, { ...config, limited: listener === 'public' || config?.isOpenTo !== undefined })
  })
  await app.register(swagger, {
    // Keeps constants as the schemas have them: a schema is recognised by its whole content.
    convertConstToEnum: false,
    openapi: {
      openapi: '3.1.0',
      info: {
        title,
        description,
        version: packageJson.version,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'The listener that serves this document' }],
      tags: Object.entries(tags).map(([name, words]) => ({ name, description: words })),
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An API key' },
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key' },
        },
      },
      security: [{ bearer: [] }, { apiKey: [] }],
    },
    transform: ({ schema, url, route }) => {
      const body = route.config?.streamed
      return { schema: body === undefined ? schema : { ...schema, body }, url }
    },
    transformObject: (document) => {
      if (!('openapiObject' in document)) return {}
      const { openapiObject } = document
      const paths = withReferences(completed(plain(openapiObject.paths), declared))
      const components = { ...openapiObject.components, ...componentsFor(paths) }
      return { ...openapiObject, components, paths, ...(listener === 'internal' && { webhooks: webhooks() }) }
    },
  })
  app.get(
    '/openapi.json',
    { schema: { hide: true } },
    serveFixed(JSON_TYPE, () => JSON.stringify(app.swagger())),
  )
  serveProblems(app)
}

const JSON_TYPE = 'application/json; charset=utf-8'

function serveProblems(app: App): void {
  const kinds = new Map(
    ERROR_CODES.map((code) => [code, serveFixed(JSON_TYPE, () => JSON.stringify({ code, ...ERRORS[code] }))]),
  )
  app.get<{ Params: { code: string } }>(
    '/problems/:code',
    { schema: { hide: true, params: Type.Object({ code: Type.String() }) } },
    async (request, reply) => {
      const { code } = request.params
      const answer = isErrorCode(code) ? kinds.get(code) : undefined
      if (answer === undefined) throw new ServiceError('not_found', `There is no problem ${code}.`)
      return answer(request, reply)
    },
  )
}
