/**
 * Checks responses as sent against the OpenAPI document: status, content type, headers, body and code. Checks requests
 * too, if given: parameters, headers and body.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

export interface Exchange {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | number | readonly string[] | undefined>>
  /** Parsed if it is JSON, else as text. */
  readonly body: unknown
  /** The request; not checked if absent. */
  readonly request?: Pick<Exchange, 'headers' | 'body'>
}

interface Part {
  readonly $ref?: string
  readonly required?: boolean
  readonly headers?: Readonly<Record<string, Part>>
  readonly content?: Readonly<Record<string, object>>
  readonly 'x-codes'?: readonly string[]
}
interface Parameter extends Part {
  readonly in: 'path' | 'query' | 'header'
  readonly name: string
  readonly schema: { readonly type?: string }
}
interface Operation {
  readonly operationId: string
  readonly parameters?: readonly Part[]
  readonly requestBody?: Part
  readonly responses: Readonly<Record<string, Part>>
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>

const ID = 'document'
const escaped = (key: string) => key.replaceAll('~', '~0').replaceAll('/', '~1')

/** Statuses that no operation declares: of a path that does not exist, and of a method that a path lacks. */
const UNDECLARED = new Set([404, 405])

/**
 * Makes a check for responses of the interface that a document describes.
 *
 * Paths that are not in the document (`/openapi.json`, `/docs`) pass, but a 404 or 405 there must be a problem too.
 */
export function documentCheck(document: object): (exchange: Exchange) => void {
  const { paths } = document as { paths: Paths }
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema(document, ID)
  const validators = new Map<string, ValidateFunction>()
  const validatorAt = (pointer: string): ValidateFunction => {
    const known = validators.get(pointer)
    if (known !== undefined) return known
    const made = ajv.compile({ $ref: `${ID}#${encodeURI(pointer)}` })
    validators.set(pointer, made)
    return made
  }
  const mustFit = (pointer: string, value: unknown, what: string) => {
    const validate = validatorAt(pointer)
    if (!validate(value)) {
      throw new Error(`${what} is not as ${pointer} says: ${ajv.errorsText(validate.errors)}; got ${shown(value)}`)
    }
  }
  /** Follows a reference: the part that it leads to, and the pointer to that part. */
  const resolve = (part: Part, pointer: string): { part: Part; pointer: string } => {
    if (part.$ref === undefined) return { part, pointer }
    const target = part.$ref.slice(1)
    const keys = target.split('/').slice(1)
    return { part: keys.reduce((at: never, key) => at[key], document as never), pointer: target }
  }

  return (exchange) => {
    const { method, url, status, headers, body } = exchange
    const what = `the response ${status} to ${method} ${url}`
    const path = Object.keys(paths)
      .filter((template) => fits(template, url.split('?')[0] ?? ''))
      .sort((a, b) => a.split('{').length - b.split('{').length)[0]
    const item = path === undefined ? undefined : paths[path]
    const name = method.toLowerCase() === 'head' ? 'get' : method.toLowerCase()
    const operation = item?.[name]
    if (path === undefined || operation === undefined) {
      if (path !== undefined && status !== 405) throw new Error(`${what}: the document has no such operation`)
      if (status >= 400 && UNDECLARED.has(status)) mustFit('/components/schemas/Problem', body, what)
      return
    }
    if (exchange.request !== undefined) checkRequest(exchange, { path, name, operation })
    const declared = operation.responses[status]
    if (declared === undefined) {
      const known = Object.keys(operation.responses).join(', ')
      throw new Error(`${what} is not declared: ${operation.operationId} has ${known}; got ${shown(body)}`)
    }
    const { part, pointer } = resolve(declared, `/paths/${escaped(path)}/${name}/responses/${status}`)
    checkHeaders(part, pointer, headers)
    if (method === 'HEAD') return
    const type = typeOf(headers)
    if (part.content === undefined) {
      if (body !== '') throw new Error(`${what} has a body, and the document says it has none: ${shown(body)}`)
      return
    }
    if (part.content[type] === undefined) {
      throw new Error(`${what} is ${type || 'of no type'}: the document has ${Object.keys(part.content).join(', ')}`)
    }
    if ('schema' in part.content[type]) mustFit(`${pointer}/content/${escaped(type)}/schema`, body, what)
    const code = type === 'application/problem+json' ? (body as { code: string }).code : undefined
    if (code !== undefined && part['x-codes']?.includes(code) !== true) {
      throw new Error(`${what} has the code ${code}: ${operation.operationId} has ${part['x-codes']?.join(', ')}`)
    }
  }

  function checkRequest(
    { method, url, request }: Exchange,
    { path, name, operation }: { readonly path: string; readonly name: string; readonly operation: Operation },
  ): void {
    const what = `the request ${method} ${url}`
    const at = `/paths/${escaped(path)}/${name}`
    const { pathname, searchParams } = new URL(url, 'http://any')
    const [wanted, given] = [path.split('/'), pathname.split('/')]
    const known = (operation.parameters ?? []).map((part, i) => resolve(part, `${at}/parameters/${i}`))
    for (const { part, pointer } of known) {
      const parameter = part as Parameter
      const value = {
        path: () => decodeURIComponent(given[wanted.indexOf(`{${parameter.name}}`)] ?? ''),
        query: () => searchParams.get(parameter.name) ?? undefined,
        header: () => request?.headers[parameter.name.toLowerCase()],
      }[parameter.in]()
      if (value !== undefined) mustFit(`${pointer}/schema`, asType(parameter, value), `${what}: ${parameter.name}`)
      else if (parameter.required === true) throw new Error(`${what}: the parameter ${parameter.name} is missing`)
    }
    const names = known.map(({ part }) => (part as Parameter).name)
    for (const [key] of searchParams) if (!names.includes(key)) throw new Error(`${what}: there is no parameter ${key}`)
    const { body = '' } = request ?? {}
    if (body === '') {
      if (operation.requestBody?.required === true) throw new Error(`${what}: has no body, and needs one`)
      return
    }
    const type = typeOf(request?.headers ?? {})
    if (operation.requestBody?.content?.[type] === undefined) throw new Error(`${what}: takes no body of ${type}`)
    mustFit(`${at}/requestBody/content/${escaped(type)}/schema`, body, what)
  }

  function checkHeaders(part: Part, pointer: string, headers: Exchange['headers']): void {
    for (const [name, reference] of Object.entries(part.headers ?? {})) {
      const header = resolve(reference, `${pointer}/headers/${escaped(name)}`)
      const value = headers[name.toLowerCase()]
      if (value === undefined) {
        if (header.part.required === true) throw new Error(`${pointer}: the header ${name} is missing`)
        continue
      }
      const schema = (header.part as { schema: { type: string } }).schema
      const read = schema.type === 'integer' ? Number(value) : String(value)
      mustFit(`${header.pointer}/schema`, read, `the header ${name}`)
    }
  }
}

const typeOf = (headers: Exchange['headers']): string =>
  String(headers['content-type'] ?? '')
    .split(';')[0]
    ?.trim() ?? ''

/** Parameters come as text: converts one to the type of its schema. */
function asType({ schema: { type } }: Parameter, value: unknown): unknown {
  if (type === 'integer' || type === 'number') return value === '' ? value : Number(value)
  return type === 'boolean' ? ({ true: true, false: false } as Record<string, unknown>)[String(value)] : value
}

const shown = (value: unknown) => JSON.stringify(value)?.slice(0, 500)

function fits(template: string, path: string): boolean {
  const [wanted, given] = [template.split('/'), path.split('/')]
  return (
    wanted.length === given.length &&
    wanted.every((segment, i) => (segment.startsWith('{') ? given[i] !== '' : segment === given[i]))
  )
}
