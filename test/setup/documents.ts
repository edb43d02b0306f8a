/** The generated OpenAPI documents: stand-ins of the service are checked against them and take responses from them. */
import { readFileSync } from 'node:fs'
import { ERRORS, type ErrorCode, type FieldError } from '../../domain/errors.ts'
import { documentCheck, type Exchange } from './document-check.ts'

interface Answer {
  readonly content?: { readonly 'application/json'?: { readonly example?: object } }
}
interface Operation {
  readonly operationId: string
  readonly responses: Readonly<Record<string, Answer>>
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const documentOf = (file: string): Document =>
  JSON.parse(readFileSync(new URL(`../../api/generated/${file}`, import.meta.url), 'utf8'))
const OF_PUBLIC = documentOf('openapi.json')
const OF_INTERNAL = documentOf('internal-openapi.json')

const operations = [OF_PUBLIC, OF_INTERNAL].flatMap(({ paths }) =>
  Object.values(paths).flatMap(Object.values<Operation>),
)

/** A valid response of an operation: the document's example. */
export function exampleOf(operationId: string): object {
  const { responses = {} } = operations.find((operation) => operation.operationId === operationId) ?? {}
  const example = (responses[200] ?? responses[201])?.content?.['application/json']?.example
  if (example === undefined) throw new Error(`the documents have no example of a response to ${operationId}`)
  return example
}

/** A failure as the service sends it, as `application/problem+json`. */
export function problemOf(code: ErrorCode, detail: string, instance: string, errors: readonly FieldError[] = []) {
  const { status, title } = ERRORS[code]
  const wrong = errors.length === 0 ? {} : { errors }
  return { type: `/problems/${code}`, title, status, detail, instance, code, ...wrong, requestId: 'r' }
}

/**
 * Makes a check for a stand-in of the service: for its responses and for the requests it gets.
 *
 * @returns what differs from the documents; undefined if nothing does
 */
export function standInCheck(): (exchange: Exchange) => string | undefined {
  const [ofPublic, ofInternal] = [documentCheck(OF_PUBLIC), documentCheck(OF_INTERNAL)]
  return (exchange) => {
    try {
      const check = exchange.url.startsWith('/internal/') ? ofInternal : ofPublic
      check(exchange)
      return undefined
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
}
