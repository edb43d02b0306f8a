/** Leftovers of an earlier start: processes of a killed start, and data, for `--fresh`. */
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { commandOf, endProcess, readPid, startedAt } from '../../stack/pids.ts'
import { standInFor } from '../../stack/postgres/postgres-programs.ts'
import type { Reporter } from '../reporter.ts'
import { readStack, removeStack } from '../stack-file.ts'

/** Part of each process's command line: its pid may belong to another program by now. */
const KNOWN_BY = {
  worker: 'simherd.js worker',
  api: 'simherd.js api',
  carrier: 'stack/carrier',
  temporal: 'temporal',
  postgres: 'postgres',
} as const

/** Ends the processes of a killed start, in the order of a normal stop. */
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

/** The files of `start` in its data folder. Other files there are left alone. */
const OURS = [
  'postgres',
  'temporal',
  'mails',
  'carrier',
  'logs',
  'stack.json',
  'keys.json',
  'demo.json',
  'demo-month-end.json',
  'ports.json',
]

/** Deletes the data of earlier starts. */
export async function deleteData(dataDir: string): Promise<void> {
  await endServers(dataDir)
  for (const name of OURS) await rm(join(dataDir, name), { recursive: true, force: true })
  await rm(standInFor(join(dataDir, 'postgres')), { recursive: true, force: true })
}

/** Ends servers whose start was killed before it wrote stack.json. They have pid files next to their data. */
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
