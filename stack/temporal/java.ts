/** Temporal's test server that skips time. It exists only for Java. Maven downloads it once into the user's cache. */
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { exists, findOnPath, keepFolder, type Progress, runWithProgress } from '../downloads.ts'

const VERSION = '1.38.0'
const FETCH_TIMEOUT_MS = 300_000

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>temporal-test-server</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.temporal</groupId>
      <artifactId>temporal-test-server</artifactId>
      <version>${VERSION}</version>
    </dependency>
  </dependencies>
</project>
`

/**
 * Finds or downloads the time-skipping test server.
 *
 * @returns `path` of a program for `TestWorkflowEnvironment.createTimeSkipping`
 * (`server: { executable: { type: 'existing-path', path } }`), or the reason to `skip`
 */
export async function timeSkippingServer(options: {
  readonly cacheDir: string
  readonly onProgress: Progress
}): Promise<{ readonly path: string } | { readonly skip: string }> {
  const java = await findOnPath('java')
  if (java === undefined) return { skip: 'Java is not installed (Debian: default-jre-headless)' }
  const folder = join(options.cacheDir, `temporal-test-server-${VERSION}-java`)
  const path = join(folder, 'test-server')
  if (await exists(path)) return { path }
  const maven = await findOnPath('mvn')
  if (maven === undefined) return { skip: 'Maven is not installed (Debian: maven)' }
  try {
    await keepFolder(folder, (unfinished) => fetchServer(maven, unfinished, options.onProgress))
    return { path }
  } catch (error) {
    return { skip: `Maven could not fetch the test server: ${error instanceof Error ? error.message : String(error)}` }
  }
}

async function fetchServer(maven: string, folder: string, onProgress: Progress): Promise<void> {
  onProgress("fetching Temporal's time-skipping test server with Maven, once")
  await writeFile(join(folder, 'pom.xml'), POM)
  await mkdir(join(folder, 'lib'))
  const goal = 'dependency:copy-dependencies'
  await runWithProgress(maven, ['-B', '-q', goal, '-DincludeScope=runtime', `-DoutputDirectory=${folder}/lib`], {
    doing: "fetching Temporal's time-skipping test server",
    onProgress,
    cwd: folder,
    timeoutMs: FETCH_TIMEOUT_MS,
  })
  const jars = await readdir(join(folder, 'lib'))
  if (!jars.some((jar) => jar.startsWith('temporal-test-server'))) throw new Error('Maven left no test server')
  const script = join(folder, 'test-server')
  // The script finds the folder by its own path, because the folder is moved after this.
  await writeFile(script, '#!/bin/sh\nexec java -cp "$(dirname "$0")/lib/*" io.temporal.testserver.TestServer "$@"\n')
  await chmod(script, 0o755)
}
