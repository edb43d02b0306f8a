/**
 * All generated files of the repository: `npm run generate` writes them. `npm run check` compares them (`--check`) and
 * lists the differences.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { internalOpenapiDocument, openapiDocument } from '../api/openapi.ts'
import { docFiles } from './docs-tables.ts'
import { compileTemplates, type GeneratedFile } from './mail-templates.ts'
import { ruleSchemaFiles } from './rule-schema.ts'
import { documentText, isMadeFrom, makeTypes } from './service-types.ts'
import { specificationTests } from './specification-tests.ts'
import { usageFile } from './usage-file.ts'

const ROOT = join(import.meta.dirname, '..')

/** The present content of a file; undefined if there is no such file. */
const present = (path: string): Promise<string | undefined> => readFile(join(ROOT, path), 'utf8').catch(() => undefined)

/** The OpenAPI documents of the interfaces, each with the file of its types. */
async function descriptions(): Promise<{ readonly document: GeneratedFile; readonly types: string }[]> {
  return [
    {
      document: { path: 'api/generated/openapi.json', content: documentText(await openapiDocument()) },
      types: 'adapters/rest/public.d.ts',
    },
    {
      document: { path: 'api/generated/internal-openapi.json', content: documentText(await internalOpenapiDocument()) },
      types: 'adapters/rest/internal.d.ts',
    },
  ]
}

/** Documents whose types are out of date. Only these types are made again, because that takes a while. */
async function staleTypes(): Promise<{ readonly document: GeneratedFile; readonly types: string }[]> {
  const found = await descriptions()
  const states = await Promise.all(
    found.map(async ({ document, types }) => isMadeFrom(document, (await present(types)) ?? '')),
  )
  return found.filter((_, i) => states[i] !== true)
}

/** Every file that can be made from the repository alone. */
async function madeFiles(): Promise<GeneratedFile[]> {
  return [
    ...(await compileTemplates()),
    ...(await docFiles(present)),
    await specificationTests(),
    ...(await descriptions()).map(({ document }) => document),
    ...ruleSchemaFiles(),
    { path: 'examples/usage-2026-10.csv', content: usageFile() },
  ]
}

/** The first line that differs, counted from 1, in both versions. */
function difference(is: string | undefined, should: string): string {
  if (is === undefined) return 'is not there'
  const [have, want] = [is.split('\n'), should.split('\n')]
  const at = want.findIndex((line, i) => line !== have[i])
  const line = at < 0 ? want.length : at
  const quote = (text: string | undefined) => (text === undefined ? 'the end of the file' : text.trim().slice(0, 100))
  return `line ${line + 1} is\n    ${quote(have[line])}\n  and should be\n    ${quote(want[line])}`
}

async function differences(): Promise<string[]> {
  const found: string[] = []
  for (const { path, content } of await madeFiles()) {
    const is = await present(path)
    if (is !== content) found.push(`${path}: ${difference(is, content)}`)
  }
  for (const { document, types } of await staleTypes()) {
    found.push(`${types}: is not what ${document.path} makes, or was changed by hand`)
  }
  return found
}

async function write({ path, content }: GeneratedFile): Promise<void> {
  if ((await present(path)) === content) return
  await mkdir(dirname(join(ROOT, path)), { recursive: true })
  await writeFile(join(ROOT, path), content)
  console.log(`written: ${path}`)
}

if (process.argv.includes('--check')) {
  const found = await differences()
  for (const line of found) console.error(line)
  if (found.length > 0) {
    console.error(`\n${found.length} generated file(s) differ: run "npm run generate" and look at the change.`)
    process.exitCode = 1
  }
} else {
  for (const file of await madeFiles()) await write(file)
  for (const { document, types } of await staleTypes()) await write({ path: types, content: await makeTypes(document) })
}
