/** Reads TypeScript files: what each imports, exports and declares, by the compiler's own parser. */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import * as ts from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'

export interface Import {
  /** Path from the root of the tree. */
  readonly path: string
  /** Whether it imports types only. */
  readonly isType: boolean
}

export interface CodeFile {
  /** Path from the root of the tree. */
  readonly path: string
  readonly text: string
  /** Files of the tree that it imports. Packages are left out. */
  readonly imports: readonly Import[]
  readonly exports: readonly string[]
  /** Names of its types and classes, exported or not. */
  readonly types: readonly string[]
  readonly functions: readonly { readonly lines: number; readonly parameters: number }[]
  /** Its lines of code, trimmed, without imports, comments and lines that have no letter. */
  readonly code: readonly string[]
}

/**
 * Reads the files of a tree that has a `tsconfig.json`. Files that the configuration leaves out are parsed as empty.
 *
 * @param paths from the root of the tree
 */
export function readCodeFiles(root: string, paths: readonly string[]): CodeFile[] {
  const api = new API({ cwd: root })
  try {
    const config = join(root, 'tsconfig.json')
    const program = api.updateSnapshot({ openProjects: [config] }).getProject(config)?.program
    return paths.map((path) => codeFileOf(root, path, program?.getSourceFile(join(root, path))))
  } finally {
    api.close()
  }
}

function codeFileOf(root: string, path: string, source: ts.SourceFile | undefined): CodeFile {
  const text = readFileSync(join(root, path), 'utf8')
  const nodes = source === undefined ? [] : [...nodesUnder(source)]
  const statements = source?.statements ?? []
  return {
    path,
    text,
    imports: nodes.flatMap(importsOf).map(({ path: to, isType }) => ({ path: join(dirname(path), to), isType })),
    exports: statements.flatMap(exportsOf),
    types: statements.flatMap((one) => (isTypeDeclaration(one) ? (one.name?.text ?? []) : [])),
    functions: nodes.filter(ts.isFunctionLikeDeclaration).map((one) => ({
      lines: one.getText(source).split('\n').length,
      parameters: one.parameters.length,
    })),
    code: linesOfCode(text, statements.findLast(ts.isImportDeclaration)?.end ?? 0),
  }
}

function* nodesUnder(node: ts.Node): Generator<ts.Node> {
  const children: ts.Node[] = []
  node.forEachChild((child) => {
    children.push(child)
  })
  for (const child of children) {
    yield child
    yield* nodesUnder(child)
  }
}

function importsOf(node: ts.Node): Import[] {
  if (ts.isImportDeclaration(node)) return fileOf(node.moduleSpecifier, isOfTypes(node))
  if (ts.isExportDeclaration(node)) return fileOf(node.moduleSpecifier, node.isTypeOnly)
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return fileOf(node.argument.literal, true)
  const isImportCall = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
  return isImportCall ? fileOf(node.arguments[0], false) : []
}

const fileOf = (name: ts.Node | undefined, isType: boolean): Import[] =>
  name !== undefined && ts.isStringLiteral(name) && name.text.startsWith('.') ? [{ path: name.text, isType }] : []

function isOfTypes({ importClause }: ts.ImportDeclaration): boolean {
  if (importClause === undefined) return false
  const { phaseModifier, name, namedBindings } = importClause
  if (phaseModifier === ts.SyntaxKind.TypeKeyword) return true
  if (name !== undefined || namedBindings === undefined || !ts.isNamedImports(namedBindings)) return false
  return namedBindings.elements.every(({ isTypeOnly }) => isTypeOnly)
}

const isTypeDeclaration = (node: ts.Node) =>
  ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node)

function exportsOf(statement: ts.Statement): string[] {
  if (ts.isExportDeclaration(statement)) {
    const { exportClause } = statement
    return exportClause !== undefined && ts.isNamedExports(exportClause)
      ? exportClause.elements.map(({ name }) => name.text)
      : []
  }
  const isVariable = ts.isVariableStatement(statement)
  if (!isVariable && !ts.isFunctionDeclaration(statement) && !isTypeDeclaration(statement)) return []
  if (statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) !== true) return []
  const names = isVariable ? statement.declarationList.declarations.map(({ name }) => name) : [statement.name]
  return names.flatMap((name) => (name !== undefined && ts.isIdentifier(name) ? name.text : []))
}

/** @param from where the imports end */
const linesOfCode = (text: string, from: number): string[] =>
  text
    .slice(from)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /[a-z]/i.test(line) && !/^(\/\/|\/\*|\*)/.test(line))
