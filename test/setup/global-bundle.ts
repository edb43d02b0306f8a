/** The workflows' bundle, made once for the whole run. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { bundleHeader, bundleWorkflows } from '../../worker/bundle-workflows.ts'
import { share } from './shared.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Path of the bundle, for WORKFLOW_BUNDLE of a started worker; `workflowBundle` reads it. */
    workflowBundle: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const bundle = await share('workflow bundle', makeBundle)
  project.provide('workflowBundle', bundle.server.path)
  return bundle.leave
}

async function makeBundle() {
  const folder = await mkdtemp(join(tmpdir(), 'simherd-test-bundle-'))
  const path = join(folder, 'workflows.js')
  await writeFile(path, `${await bundleHeader()}${await bundleWorkflows()}`)
  return { path, stop: () => rm(folder, { recursive: true, force: true }) }
}
