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
import { FixedPoolTariff, StandardTariff, Tariff, TariffSummary } from '../domain/tariff.ts'
import { ApiKey, Tenant } from '../domain/tenant.ts'
import { Cause, Ticket, TicketDetail } from '../domain/ticket.ts'
import { WatchdogLogEntry } from '../domain/watchdog-log.ts'
import packageJson from '../package.json' with { type: 'json' }
import type { App } from './app.ts'
import { Problem } from './problems.ts'

/** Schemas with a name of their own in the document. */
const NAMED: Readonly<Record<string, TSchema>> = {
  Pagination,
  CodeLabel,
  BaseTariff: StandardTariff,
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
})

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
const names = new Map(Object.entries(NAMED).map(([name, schema]) => [JSON.stringify(schema), name]))
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value))

/** Puts a reference in the place of every schema that has a name. */
function withReferences(value: Json, except?: string): Json {
  if (Array.isArray(value)) return value.map((item) => withReferences(item))
  if (typeof value !== 'object' || value === null) return value
  const name = names.get(JSON.stringify(value))
  if (name !== undefined && name !== except) return { $ref: `#/components/schemas/${name}` }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withReferences(item)]))
}

const components = () =>
  Object.fromEntries(Object.entries(NAMED).map(([name, schema]) => [name, withReferences(plain(schema), name)]))

const FAILURE: Json = {
  description: 'A failure; its code is stable',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
}

/** Gives every operation of a document the answer of a failure. */
function withFailures(paths: Json): Json {
  if (typeof paths !== 'object' || paths === null || Array.isArray(paths)) return paths
  for (const item of Object.values(paths)) {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) continue
    for (const operation of Object.values(item)) {
      if (typeof operation !== 'object' || operation === null || Array.isArray(operation)) continue
      const { responses } = operation
      if (typeof responses === 'object' && responses !== null && !Array.isArray(responses)) responses.default = FAILURE
    }
  }
  return paths
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
      const made = plain(openapiObject.paths)
      return {
        ...openapiObject,
        components: { ...openapiObject.components, schemas: components() },
        paths: withFailures(withReferences(made)),
      }
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

const isCode = (code: string): code is ErrorCode => code in ERRORS

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
