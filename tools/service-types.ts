/**
 * The interfaces' descriptions as files, and the types of the client over them.
 *
 * The types come from openapi-typescript, which wants an older TypeScript than ours: it runs on its own, fetched by
 * npx when a description has changed. So that comparing needs no network, a file of types holds the hash of its
 * description and the hash of itself.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { GeneratedFile } from './mail-templates.ts'

const GENERATOR = 'openapi-typescript@7.13.0'
const COMPILER = 'typescript@5.9.3'

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A description as it is kept: what is served, and a word on where it comes from. */
export const documentText = (document: object): string =>
  `${JSON.stringify({ 'x-generated': 'from the schemas, by tools/generated.ts: do not edit', ...document }, null, 2)}\n`

const typesText = (document: GeneratedFile, types: string): string =>
  [
    `// Generated from ${document.path} by ${GENERATOR} (tools/service-types.ts): do not edit.`,
    `// Hash of the description: ${hashOf(document.content)}`,
    `// Hash of what follows: ${hashOf(types)}`,
    types,
  ].join('\n')

/** Whether a file of types was made from this description, and nobody has changed it since. */
export function isMadeFrom(document: GeneratedFile, text: string): boolean {
  const types = text.split('\n').slice(3).join('\n')
  return text === typesText(document, types)
}

/**
 * Makes the types of a description.
 *
 * @throws Error where the generator cannot be had, or refuses the description
 */
export async function makeTypes(document: GeneratedFile): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'simherd-types-'))
  try {
    const [source, target] = [join(folder, 'document.json'), join(folder, 'types.d.ts')]
    await writeFile(source, document.content)
    const args = ['--yes', '-p', GENERATOR, '-p', COMPILER, 'openapi-typescript', source, '-o', target]
    await promisify(execFile)('npx', args, { cwd: folder, shell: process.platform === 'win32' })
    return typesText(document, await readFile(target, 'utf8'))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
