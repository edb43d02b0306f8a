import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Connection } from '@temporalio/client'
import proto from '@temporalio/proto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { userCacheDir } from '../../stack/downloads.ts'
import { startedAt } from '../../stack/pids.ts'
import { findTemporalServer } from '../../stack/temporal/find-temporal-server.ts'
import { startTemporal } from '../../stack/temporal/temporal.ts'
import { temporaryFolder } from '../setup/folder.ts'
import { listening } from '../setup/listening.ts'
import { soon } from '../setup/soon.ts'
import { abandoned } from './abandoned.ts'

const onProgress = () => undefined
const program = await findTemporalServer({ cacheDir: userCacheDir(), onProgress })

async function withConnection<T>(address: string, use: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address })
  try {
    return await use(connection)
  } finally {
    await connection.close()
  }
}
const startWorkflow = (address: string, workflowId: string) =>
  withConnection(address, ({ workflowService }) =>
    workflowService.startWorkflowExecution({
      namespace: 'default',
      workflowId,
      requestId: workflowId,
      workflowType: { name: 'nothing' },
      taskQueue: { name: 'none' },
    }),
  )
const describeWorkflow = (address: string, workflowId: string) =>
  withConnection(address, ({ workflowService }) =>
    workflowService.describeWorkflowExecution({ namespace: 'default', execution: { workflowId } }),
  )

/** The program, except that its first runs end at once, as if a port were taken. */
async function aProgramThatFails(times: number): Promise<string> {
  const folder = await temporaryFolder()
  const file = join(folder, 'temporal')
  const script = `#!/bin/sh
echo run >> ${folder}/runs
if [ $(wc -l < ${folder}/runs) -le ${times} ]; then echo 'address already in use' >&2; exit 1; fi
exec ${program} "$@"
`
  await writeFile(file, script)
  await chmod(file, 0o755)
  return file
}

describe('the embedded Temporal server', () => {
  test('is restarted when it ends at once', async () => {
    const server = await startTemporal({ program: await aProgramThatFails(2) })
    expect((await fetch(server.uiUrl)).status).toBe(200)
    await server.stop()

    await expect(startTemporal({ program: await aProgramThatFails(3) })).rejects.toThrow('address already in use')
  })

  test('answers once started, and ends when stopped', async () => {
    const server = await startTemporal({ program })

    expect((await fetch(server.uiUrl)).status).toBe(200)
    await server.stop()

    await soon(async () => expect(await startedAt(server.pid)).toBeUndefined())
  })

  test('keeps its workflows after a SIGKILL', async () => {
    const dataDir = await temporaryFolder()
    const first = await startTemporal({ program, dataDir })
    await startWorkflow(first.address, 'kept')
    process.kill(first.pid, 'SIGKILL')

    const second = await startTemporal({ program, dataDir })
    onTestFinished(() => second.stop())

    const { workflowExecutionInfo } = await describeWorkflow(second.address, 'kept')
    expect(workflowExecutionInfo?.type?.name).toBe('nothing')
  })

  test('remembers ended workflows for at least 35 days', async () => {
    const dataDir = await temporaryFolder()
    const retention = (address: string) =>
      withConnection(address, async ({ workflowService }) => {
        const { config } = await workflowService.describeNamespace({ namespace: 'default' })
        return Number(config?.workflowExecutionRetentionTtl?.seconds) / 86_400
      })
    const setRetention = (address: string, days: number) =>
      withConnection(address, ({ workflowService }) => {
        const workflowExecutionRetentionTtl = proto.google.protobuf.Duration.fromObject({ seconds: days * 86_400 })
        return workflowService.updateNamespace({ namespace: 'default', config: { workflowExecutionRetentionTtl } })
      })
    const first = await startTemporal({ program, dataDir })
    expect(await retention(first.address)).toBe(35)
    await setRetention(first.address, 1)
    await first.stop()

    const second = await startTemporal({ program, dataDir })
    expect(await retention(second.address)).toBe(35)
    // A longer retention is kept.
    await setRetention(second.address, 90)
    await second.stop()

    const third = await startTemporal({ program, dataDir })
    onTestFinished(() => third.stop())
    expect(await retention(third.address)).toBe(90)
  })

  test('replaces the server a killed process left running', async () => {
    const dataDir = await temporaryFolder()
    const { pid } = await abandoned('temporal/temporal.ts', 'startTemporal', { program, dataDir })
    expect(await startedAt(pid)).toBeDefined()

    const lines: string[] = []
    const server = await startTemporal({ program, dataDir, log: (line) => lines.push(line) })
    onTestFinished(() => server.stop())

    expect(lines).toEqual([`stopping a Temporal server that was left running (process ${pid})`])
    expect(await startedAt(pid)).toBeUndefined()
  })

  test('says what to do when its port is taken', async () => {
    const port = await listening()

    await expect(startTemporal({ program, port })).rejects.toThrow(
      `port ${port} for the embedded Temporal server is in use: stop the program`,
    )
  })
})

describe('findTemporalServer', () => {
  test('ignores another program of that name on PATH', async () => {
    const folder = await temporaryFolder()
    await writeFile(join(folder, 'temporal'), '#!/bin/sh\necho temporal logic of actions 1.0\n')
    await chmod(join(folder, 'temporal'), 0o755)
    vi.stubEnv('PATH', `${folder}:${process.env.PATH}`)
    onTestFinished(() => void vi.unstubAllEnvs())

    expect(await findTemporalServer({ cacheDir: userCacheDir(), onProgress })).not.toContain(folder)
  })
})
