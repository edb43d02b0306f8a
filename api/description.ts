/** OpenAPI 3.1, made from the schemas that validate; the page that shows it; the description of problems. */
import swagger from '@fastify/swagger'
import scalar from '@scalar/fastify-api-reference'
import type { TSchema } from 'typebox'
import { Type } from 'typebox'
import { ERRORS, type ErrorCode, ServiceError } from '../domain/errors.ts'
import { Event } from '../domain/event.ts'
import { CodeLabel, Pagination } from '../domain/page.ts'
import { Pool } from '../domain/pool.ts'
import { strictObject } from '../domain/schema.ts'
import { Sim, SimSummary } from '../domain/sim.ts'
import { BaseTariff, FixedPoolTariff, Tariff, TariffSummary } from '../domain/tariff.ts'
import { ApiKey, Tenant } from '../domain/tenant.ts'
import { Cause, Ticket, TicketDetail } from '../domain/ticket.ts'
import { WatchdogLogEntry } from '../domain/watchdog-log.ts'
import packageJson from '../package.json' with { type: 'json' }
import type { App } from './app.ts'
import { Problem } from './problems.ts'
import { mayBeLeftOut } from './validation.ts'

/** Schemas with a name of their own in the document. */
const NAMED: Readonly<Record<string, TSchema>> = {
  Pagination,
  CodeLabel,
  BaseTariff,
  FixedPoolTariff,
  Tariff,
  TariffSummary,
  Pool,
  Sim,
  SimSummary,
  Cause,
  Ticket,
  TicketDetail,
  Tenant,
  ApiKey,
  Event,
  WatchdogLogEntry,
  Problem,
}

const ProblemKind = strictObject({
  code: Type.String(),
  status: Type.Integer(),
  retryable: Type.Boolean(),
  title: Type.String(),
  remedy: Type.String(),
})

type JsonObject = { [name: string]: Json }
type Json = null | boolean | number | string | Json[] | JsonObject
const names = new Map(Object.entries(NAMED).map(([name, schema]) => [JSON.stringify(schema), name]))
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value))
const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Puts a reference in the place of every schema that has a name. */
function withReferences(value: Json, except?: string): Json {
  if (Array.isArray(value)) return value.map((item) => withReferences(item))
  if (!isObject(value)) return value
  const name = names.get(JSON.stringify(value))
  if (name !== undefined && name !== except) return { $ref: `#/components/schemas/${name}` }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withReferences(item)]))
}

/** The named schemas that something refers to, directly or through another. */
function referredTo(paths: Json): JsonObject {
  const found: JsonObject = {}
  const pending = [JSON.stringify(paths)]
  for (let text = pending.pop(); text !== undefined; text = pending.pop()) {
    for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (name in found) continue
      const schema = withReferences(plain(NAMED[name]), name)
      found[name] = schema
      pending.push(JSON.stringify(schema))
    }
  }
  return found
}

const FAILURE: Json = {
  description: 'A failure; its code is stable',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}
const header = (name: string, description: string): Json => ({
  in: 'header',
  name,
  required: false,
  schema: { type: 'string' },
  description,
})
const TENANT = header('X-Tenant-Id', 'With an operator key: the tenant to act for')
const ONCE = header(
  'Idempotency-Key',
  'The same request with the same key is done once, and answered alike for 24 hours',
)

/** Adds to every operation what none of their schemas says: failures, headers, bodies that may be left out. */
function completed(paths: Json): Json {
  if (!isObject(paths)) return paths
  for (const item of Object.values(paths)) {
    if (!isObject(item)) continue
    for (const [method, operation] of Object.entries(item)) {
      if (isObject(operation)) complete(method, operation)
    }
  }
  return paths
}

function complete(method: string, operation: JsonObject): void {
  const { responses, requestBody, security } = operation
  if (isObject(responses)) {
    for (const answer of Object.values(responses)) {
      if (isObject(answer) && answer.description === 'Default Response') answer.description = 'The answer'
    }
    responses.default = FAILURE
  }
  // Paths without a key have no tenant either.
  if (security === undefined) {
    const parameters = Array.isArray(operation.parameters) ? operation.parameters : []
    operation.parameters = [...parameters, TENANT, ...(method === 'post' ? [ONCE] : [])]
  }
  if (isObject(requestBody) && isObject(requestBody.content)) {
    const schemas = Object.values(requestBody.content).map((media) => (isObject(media) ? media.schema : undefined))
    if (schemas.every(mayBeLeftOut)) requestBody.required = false
  }
}

/** Describes what is registered from now on, and serves the description at `/openapi.json`. */
export async function useOpenapi(app: App, title: string, description: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title, description, version: packageJson.version, license: { name: 'Apache-2.0' } },
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An API key' },
          apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'An API key' },
        },
      },
      security: [{ bearer: [] }, { apiKey: [] }],
    },
    transformObject: (document) => {
      if (!('openapiObject' in document)) return {}
      const { openapiObject } = document
      const paths = completed(withReferences(plain(openapiObject.paths)))
      return { ...openapiObject, components: { ...openapiObject.components, schemas: referredTo(paths) }, paths }
    },
  })
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
  app.get(
    '/problems/:code',
    { schema: { hide: true, params: Type.Object({ code: Type.String() }), response: { 200: ProblemKind } } },
    async ({ params: { code } }) => {
      if (!isCode(code)) throw new ServiceError('not_found', `There is no problem ${code}.`)
      return { code, ...ERRORS[code] }
    },
  )
}

const isCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code)

/** Serves a page at `/docs` that shows the description. It loads nothing from elsewhere, and asks nobody. */
export async function useDocsPage(app: App): Promise<void> {
  await app.register(scalar, {
    routePrefix: '/docs',
    hooks: {
      onRequest: (_request, reply, done) => {
        reply.header('content-security-policy', DOCS_POLICY)
        done()
      },
    },
    configuration: {
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      hideClientButton: true,
      showDeveloperTools: 'never',
    },
  })
}

/** The page has a script of its own in it. */
const DOCS_POLICY =
  "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:"
