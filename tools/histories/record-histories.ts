/**
 * Records the histories that test/workflows/replay.test.ts replays: one of each path of each workflow, from runs on
 * development servers. Takes two to three minutes.
 *
 *   node tools/histories/record-histories.ts                           paths that have no history yet
 *   node tools/histories/record-histories.ts --anew                    all paths; the present histories go
 *   node tools/histories/record-histories.ts --suffix x --only '^undo-'  these paths once more, next to the present ones
 *
 * A history stands for runs that users have open. So after a release record one for a new path, and keep the old ones.
 * A new file gets its line in recorded.jsonl. If a history has to be recorded again, write the reason into its new line:
 * {"file", "sha256", "why"}. The suffix is for a patch that many paths take part in.
 */
import { existsSync } from 'node:fs'
import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Client, Connection } from '@temporalio/client'
import { userCacheDir } from '../../stack/downloads.ts'
import { findTemporalServer } from '../../stack/temporal/find-temporal-server.ts'
import { startTemporal } from '../../stack/temporal/temporal.ts'
import { startHarness } from '../../test/workflows/harness.ts'
import { digestOf, writtenHistory } from '../../test/workflows/history-files.ts'
import { bundleWorkflows } from '../../worker/bundle-workflows.ts'
import { recordContinued, recordLookingOn } from './record-continued.ts'
import { recordEnforcement } from './record-enforcement.ts'
import { recordMonthEnds } from './record-month-ends.ts'
import { recordLookedAt, recordProvisions } from './record-provisions.ts'
import { recordSuspensions } from './record-suspensions.ts'

const { values } = parseArgs({
  options: {
    anew: { type: 'boolean', default: false },
    suffix: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})
const only = new RegExp(values.only)

const folder = fileURLToPath(new URL('../../test/histories/', import.meta.url))
if (values.anew) await rm(folder, { recursive: true, force: true })
await mkdir(folder, { recursive: true })
const program = await findTemporalServer({ cacheDir: userCacheDir(), onProgress: console.log })
const bundle = bundleWorkflows()
type Harness = Awaited<ReturnType<typeof startHarness>>
/** Waits for the end of a workflow and keeps the history of a run; without `runId`, of the latest. */
type Keep = (name: string, workflowId: string, runId?: string) => Promise<void>

type RecordAll = (harness: Harness, record: Keep) => Promise<void>

/** Records histories on a separate server, and stops it. */
async function recordOn(server: Awaited<ReturnType<typeof startTemporal>>, recordAll: RecordAll): Promise<void> {
  const harness = await startHarness(server.address, 'default', bundle)
  const connection = await Connection.connect({ address: server.address })
  const client = new Client({ connection })
  const record: Keep = async (scenario, workflowId, runId) => {
    const handle = client.workflow.getHandle(workflowId, runId)
    await handle.result().catch(() => undefined)
    if (!only.test(scenario)) return
    const name = values.suffix === undefined ? scenario : `${scenario}-${values.suffix}`
    const file = `${folder}${name}.json`
    if (existsSync(file)) return console.log(`${name}: kept`)
    const text = `${writtenHistory(await handle.fetchHistory())}\n`
    await writeFile(file, text)
    await appendFile(`${folder}recorded.jsonl`, `${JSON.stringify({ file: `${name}.json`, sha256: digestOf(text) })}\n`)
    console.log(`${name}: recorded`)
  }
  try {
    await recordAll(harness, record)
  } finally {
    await harness.close()
    await connection.close()
    await server.stop()
  }
}

const recordMost: RecordAll = async (harness, record) => {
  await recordProvisions(harness, record)
  await recordSuspensions(harness, record)
  await recordEnforcement(harness, record)
  await recordMonthEnds(harness, record)
}

const recordings: Promise<void>[] = []
for (const [recordAll, settings] of [
  [recordMost, {}],
  [recordLookedAt, {}],
  [recordContinued, { 'limit.historyCount.suggestContinueAsNew': 10 }],
  [recordLookingOn, { 'limit.historyCount.suggestContinueAsNew': 40 }],
] as const) {
  // One after the other: servers that start at once may choose the same ports.
  recordings.push(recordOn(await startTemporal({ program, settings }), recordAll))
}
await Promise.all(recordings)
