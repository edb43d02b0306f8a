/** Our own lint rules, for what oxlint has no rule for. Loaded by oxlint.config.ts. */
import { dirname, join, relative, sep } from 'node:path'
import { type Import, whyNotImport } from './boundaries.ts'

interface Specifier {
  readonly type: string
  readonly importKind?: string
  readonly exportKind?: string
  readonly imported?: { readonly name?: string }
  readonly local?: { readonly name?: string }
}
interface Node {
  readonly callee: { readonly type: string; readonly name?: string }
  readonly arguments: readonly unknown[]
  readonly tag: { readonly type: string; readonly name?: string }
  readonly quasi: { readonly quasis: readonly { readonly value: { readonly raw: string } }[] }
  readonly source?: { readonly value?: unknown } | null
  readonly importKind?: string
  readonly exportKind?: string
  readonly specifiers?: readonly Specifier[]
}
interface Context {
  readonly filename: string
  report(found: { readonly node: Node; readonly message: string }): void
}

const ROOT = join(import.meta.dirname, '..')

/** `new Date()` reads the clock, like `Date.now()`. With an argument it is arithmetic. */
const noNewDateNow = {
  create: (context: Context) => ({
    NewExpression(node: Node) {
      if (node.callee.type !== 'Identifier' || node.callee.name !== 'Date' || node.arguments.length > 0) return
      context.report({ node, message: 'No clock here: time is a parameter, so that tests and retries give the same.' })
    },
  }),
}

/** A column of codes, compared with a number. */
const BARE_CODE = /\b\w*(?:status|type|severity)"? *(?:[<>=!]+|(?:not )?in \(|when) *-?\d/

/** SQL names a code by its table in domain/codes.ts. */
const noBareCode = {
  create: (context: Context) => ({
    TaggedTemplateExpression(node: Node) {
      if (node.tag.name !== 'sql') return
      const [found] = node.quasi.quasis.flatMap(({ value }) => BARE_CODE.exec(value.raw)?.[0] ?? [])
      if (found === undefined) return
      context.report({
        node,
        message: `"${found}" is a code: take it from domain/codes.ts, such as \${SimStatus.Active}.`,
      })
    },
  }),
}

/** Allows only the imports that tools/boundaries.ts allows. */
const boundaries = {
  create: (context: Context) => {
    const file = relative(ROOT, context.filename).replaceAll(sep, '/')
    const look = (node: Node) => {
      const specifier = node.source?.value
      if (typeof specifier !== 'string') return
      const why = whyNotImport(file, importOf(context.filename, specifier, node))
      if (why !== undefined) context.report({ node, message: why })
    }
    return {
      ImportDeclaration: look,
      ExportNamedDeclaration: look,
      ExportAllDeclaration: look,
      ImportExpression: look,
      TSImportType: (node: Node) => look({ ...node, importKind: 'type' }),
    }
  },
}

/** The imported file by its path in the repository, or the package by its name. */
function importOf(filename: string, specifier: string, node: Node): Import {
  const isRelative = specifier.startsWith('.')
  const target = isRelative ? relative(ROOT, join(dirname(filename), specifier)).replaceAll(sep, '/') : specifier
  const onlyTypes = node.importKind === 'type' || node.exportKind === 'type'
  const values = onlyTypes
    ? []
    : (node.specifiers ?? [])
        .filter((one) => one.importKind !== 'type' && one.exportKind !== 'type')
        .map((one) => one.imported?.name ?? one.local?.name ?? '*')
  // `import './x.ts'` and `export *` name nothing, and import all of it.
  const isWhole = !onlyTypes && (node.specifiers ?? []).length === 0
  return { target, isPackage: !isRelative, values: isWhole ? ['*'] : values }
}

export default {
  meta: { name: 'house' },
  rules: { 'no-new-date-now': noNewDateNow, 'no-bare-code': noBareCode, boundaries },
}
