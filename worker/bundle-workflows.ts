/** The code that the Temporal worker runs workflows from: bundled at start, or in advance by `npm run build`. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
import { BUNDLED } from './bundled.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

/** Bundles the workflows on disk, in about a second. @param more interceptors, placed after the workflows' own */
export async function bundleWorkflows(more: readonly string[] = []): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: path('../workflows/index.ts'),
    workflowInterceptorModules: [path('../workflows/interceptors.ts'), ...more],
    logger: new DefaultLogger('ERROR'),
  })
  return code
}

/** First line of a bundle made in advance: the hash of its sources and of the version of Temporal's SDK. */
export const bundleHeader = async (sdk = sdkVersion()): Promise<string> =>
  `/* simherd workflows ${await sourcesHash(sdk)} */\n`

/** Reads a bundle made in advance. @throws Error if it is missing, or was made from other sources */
export async function readBundle(file: string): Promise<string> {
  const code = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new Error(`WORKFLOW_BUNDLE: there is no bundle at ${file}. Make one with 'npm run build'`, { cause })
  })
  if (code.startsWith(await bundleHeader())) return code
  throw new Error(
    `WORKFLOW_BUNDLE: ${file} was made of other workflows than these, or with another SDK; make it anew with 'npm run build'`,
  )
}

const sdkVersion = (): string => createRequire(import.meta.url)('@temporalio/workflow/package.json').version

/** Paths of all our own files that may be part of a bundle. */
export async function bundledSources(): Promise<string[]> {
  const folders = BUNDLED.map(async (entry) =>
    entry.endsWith('.ts')
      ? [entry]
      : (await readdir(path(`../${entry}/`), { recursive: true })).map((name) => `${entry}/${name}`),
  )
  return (await Promise.all(folders))
    .flat()
    .filter((file) => file.endsWith('.ts'))
    .toSorted()
}

async function sourcesHash(sdk: string): Promise<string> {
  const hash = createHash('sha256').update(`${sdk}\n`)
  for (const file of await bundledSources()) hash.update(`${file}\n`).update(await readFile(path(`../${file}`)))
  return hash.digest('hex')
}
