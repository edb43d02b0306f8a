/** Bundles the workflows before a worker starts: `npm run build` writes dist/workflows.js, for WORKFLOW_BUNDLE. */
import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { bundleHeader, bundleWorkflows } from '../worker/bundle-workflows.ts'

const folder = fileURLToPath(new URL('../dist/', import.meta.url))
await mkdir(folder, { recursive: true })
const code = `${await bundleHeader()}${await bundleWorkflows()}`
await writeFile(`${folder}workflows.js`, code)
console.log(`dist/workflows.js: ${Math.round(code.length / 1024)} KiB; set WORKFLOW_BUNDLE to it`)
