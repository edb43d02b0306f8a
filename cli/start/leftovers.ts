/** What an earlier start left behind: processes, where it was killed; data, where one begins anew. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { commandOf, endProcess, readPid, startedAt } from '../../stack/pids.ts'
import { standInFor } from '../../stack/postgres/binaries.ts'
import type { Reporter } from '../reporter.ts'
import { readStack, removeStack } from '../stack-file.ts'

/** A word of each process's command line: a pid may have been given to another program since. */
const KNOWN_BY = {
  worker: 'simherd.js worker',
  api: 'simherd.js api',
  carrier: 'stack/carrier',
  temporal: 'temporal',
  postgres: 'postgres',
} as const

/** Ends what a killed start has left running, in the order in which one stops. */
export async function endLeftovers(dataDir: string, reporter: Reporter): Promise<void> {
  const stack = await readStack(dataDir)
  for (const name of ['worker', 'api', 'carrier', 'temporal', 'postgres'] as const) {
    const pid = stack?.pids[name] ?? null
    if (pid === null || (await startedAt(pid)) === undefined || !(await commandOf(pid)).includes(KNOWN_BY[name]))
      continue
    reporter.say(`ending the ${name} (process ${pid}) that an earlier start left running`)
    await endProcess(pid)
  }
  await removeStack(dataDir)
}

/** What `start` keeps in its data folder, and nothing else that may be there. */
const OURS = ['postgres', 'temporal', 'mails', 'carrier', 'logs', 'stack.json', 'keys.json', 'demo.json', 'ports.json']

/** Deletes what earlier starts have kept. */
export async function deleteData(dataDir: string): Promise<void> {
  await endServers(dataDir)
  for (const name of OURS) await rm(join(dataDir, name), { recursive: true, force: true })
  await rm(standInFor(join(dataDir, 'postgres')), { recursive: true, force: true })
}

/** Ends servers that outlived their start before there was a stack.json: they note themselves beside their data. */
async function endServers(dataDir: string): Promise<void> {
  const folders = [join(dataDir, 'postgres'), standInFor(join(dataDir, 'postgres'))]
  for (const folder of folders) {
    const note = await readFile(join(folder, 'cluster', 'postmaster.pid'), 'utf8').catch(() => '')
    const pid = Number(note.split('\n')[0])
    if (pid > 0 && (await startedAt(pid)) !== undefined && (await commandOf(pid)).includes(folder))
      await endProcess(pid)
  }
  const temporal = await readPid(join(dataDir, 'temporal', 'temporal.pid'))
  if (temporal !== undefined) await endProcess(temporal)
}
