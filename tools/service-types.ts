/**
 * Makes the files of the OpenAPI documents, and the client's types from them.
 *
 * The types come from openapi-typescript, which needs an older TypeScript than ours: both are in `openapi-types/`. It takes
 * some seconds, and runs when a document has changed. A file of types holds the hash of its document and its own hash.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { GeneratedFile } from './mail-templates.ts'
import openapiTypes from './openapi-types/package.json' with { type: 'json' }

const GENERATOR = `openapi-typescript@${openapiTypes.devDependencies['openapi-typescript']}`
const COMMAND = join(import.meta.dirname, 'openapi-types/node_modules/openapi-typescript/bin/cli.js')

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The file of a document: the document as served, and a note on its origin. */
export const documentText = (document: object): string =>
  `${JSON.stringify({ 'x-generated': 'from the schemas, by tools/generated.ts: do not edit', ...document }, null, 2)}\n`

const typesText = (document: GeneratedFile, types: string): string =>
  [
    `// Generated from ${document.path} by ${GENERATOR} (tools/service-types.ts): do not edit.`,
    `// Hash of the description: ${hashOf(document.content)}`,
    `// Hash of what follows: ${hashOf(types)}`,
    types,
  ].join('\n')

/** Whether a file of types was made from this document, and has not been edited since. */
export function isMadeFrom(document: GeneratedFile, text: string): boolean {
  const types = text.split('\n').slice(3).join('\n')
  return text === typesText(document, types)
}

/**
 * Makes the types of a document.
 *
 * @throws Error if the generator refuses the document
 */
export async function makeTypes(document: GeneratedFile): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'simherd-types-'))
  try {
    const [source, target] = [join(folder, 'document.json'), join(folder, 'types.d.ts')]
    await writeFile(source, document.content)
    await promisify(execFile)(process.execPath, [COMMAND, source, '-o', target], { cwd: folder })
    return typesText(document, await readFile(target, 'utf8'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
