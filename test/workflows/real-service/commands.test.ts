/** `simherd workflows …` against the whole service: API and worker as processes, and a simulated carrier. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { printWorkflows } from '../../../cli/workflows/list.ts'
import { showWorkflow } from '../../../cli/workflows/show.ts'
import { startMonthEnd, startProvision, startSuspend, startUndo } from '../../../cli/workflows/start.ts'
import { startBulk } from '../../../cli/workflows/start-bulk.ts'
import { cancelWorkflow, retryWorkflow, signalWorkflow, updateWorkflow } from '../../../cli/workflows/steer.ts'
import { watchWorkflow } from '../../../cli/workflows/watch.ts'
import { readSettings, type Settings } from '../../../process/settings.ts'
import { failureOf } from '../../setup/command-failure.ts'
import { useCommonHarness } from '../../setup/common-harness.ts'
import { temporaryFolder } from '../../setup/folder.ts'
import { startService } from '../../setup/service.ts'
import { soon } from '../../setup/soon.ts'

const TICKET = '[0-9a-f-]{36}'
let settings: Settings
let tenant: string
let poolId: number
let nextIccid = 8_999_990_000_000_100_000n
const lines: string[] = []
const statusLines: string[] = []

const start = async () => {
  const started = await startService()
  return { ...started, close: started.stop }
}
const { harness: service, giveUp } = useCommonHarness(start, async () => {
  settings = { ...readSettings(), SERVICE_INTERNAL_URL: service.internalUrl, SERVICE_KEY: service.key }
  const body = { name: 'Ours', billingEmail: 'billing@example.com' }
  tenant = (await service.call('POST', '/internal/tenants', '', body)).id
  const standardTariff = { baseTariffGb: 1, simMonthlyFee: 1.5, smsFee: 0.05, voiceFee: 0.1, overageFeePerGb: 2.25 }
  const tariff = { displayName: 'Plain', type: 0, standardTariff }
  const { id: tariffId } = await service.call('POST', '/internal/tariffs', tenant, tariff)
  poolId = (await service.tenantCall('POST', '/api/pools', tenant, { type: 0, tariffId, watchdogMode: 2 })).id
})
beforeAll(() => {
  vi.spyOn(console, 'log').mockImplementation((line: string) => lines.push(...line.split('\n')))
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => statusLines.push(String(text).trimEnd()) > 0)
})
afterAll(() => void vi.restoreAllMocks())
beforeEach(() => {
  lines.length = 0
  statusLines.length = 0
})

async function someSims(count: number): Promise<{ id: number; iccid: string }[]> {
  const sims = Array.from({ length: count }, () => ({ iccid: String(nextIccid++) }))
  return (await service.call('POST', '/internal/sims', tenant, { sims })).created
}
async function aSim() {
  const [sim] = await someSims(1)
  if (sim === undefined) throw new Error('no SIM was made')
  return { ...sim, workflowId: `provision-and-activate:${tenant}:${sim.id}` }
}
async function activeSim() {
  const sim = await aSim()
  await startProvision(settings, { tenant, sim: sim.id, pool: poolId, wait: true })
  lines.length = 0
  return { ...sim, suspension: `suspend-on-overage:${tenant}:${sim.id}:${new Date().toISOString().slice(0, 7)}` }
}

describe('simherd workflows start', () => {
  test('reports progress, then steps and tickets', async () => {
    const { iccid, workflowId } = await aSim()

    await startProvision(settings, { tenant, iccid, pool: poolId, tag: 'door 4', wait: true })

    expect(lines[0]).toBe(`started ${workflowId}`)
    expect(statusLines.at(-1)).toBe('completed, activated')
    expect(new Set(statusLines).size).toBe(statusLines.length)
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`  provision +${TICKET} +complete$`)))
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`  activate +${TICKET} +complete$`)))
  })

  test('exits with 1 when the run was cancelled', async () => {
    const sim = await activeSim()
    const suspend = { tenant, sim: sim.id, wait: true }

    await startSuspend(settings, { ...suspend, grace: 'PT2H', wait: false })
    await cancelWorkflow(settings, sim.suspension, { wait: true })
    expect(lines.splice(0)).toEqual([`started ${sim.suspension}`, `${sim.suspension}: is asked to cancel itself`])

    const again = await failureOf(startSuspend(settings, suspend))
    expect(lines[0]).toMatch(/is cancelled and does not run again; "npx simherd workflows retry /)
    expect([again.exitCode, again.message]).toEqual([1, `${sim.suspension} has ended cancelled: cancelled`])
  })

  test('starts a batch from a file and counts', async () => {
    const sims = await someSims(12)
    const file = join(await temporaryFolder(), 'sims.csv')
    await writeFile(file, `iccid,tag\n${sims.map(({ iccid }, i) => `${iccid},meter ${i}`).join('\n')}\n`)

    await startBulk(settings, file, { tenant, pool: poolId, parallel: 5, wait: true })

    expect(lines[0]).toMatch(new RegExp(`^started provision-in-bulk:${tenant}:${TICKET}: 12 SIMs, 0 left out$`))
    expect(statusLines.at(-1)).toMatch(/^completed, done: 12 activated, 0 left/)
  })

  test('starts undo-suspensions of a rule', async () => {
    await startUndo(settings, { tenant, rule: 'sim-overage', since: '2026-01-01T00:00:00Z', wait: true })

    expect(lines[0]).toMatch(new RegExp(`^started undo-suspensions:${tenant}:`))
    expect(statusLines.at(-1)).toMatch(/^completed, done/)
  })

  test('prints a dry run of the month end', async () => {
    await activeSim()

    await startMonthEnd(settings, { tenant, dryRun: true })

    expect(lines[0]).toMatch(/^dry run of the end of cycle \d{4}-\d\d, which ends at .*; nothing was changed$/)
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}moves +0$/))
    expect(lines).toContainEqual(expect.stringMatching(/^ {2}pool +used MB +capacity MB +over MB +next MB +charges$/))
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`^ {2}${poolId} `)))
  })

  test('prints the plan of a named cycle as JSON', async () => {
    await startMonthEnd(settings, { tenant, cycle: '2199-01', dryRun: true, output: 'json' })

    expect(JSON.parse(lines.join('\n'))).toMatchObject({ cycle: '2199-01', closedAt: null, changes: { count: 0 } })
  })

  test.each<[string, () => Promise<unknown>, number, RegExp]>([
    ['no SIM', () => startProvision(settings, { tenant }), 2, /Expected one of --sim and --iccid, got neither/],
    ['a SIM twice', () => startProvision(settings, { tenant, sim: 1, iccid: '1' }), 2, /got both/],
    ['a SIM that is not there', () => startProvision(settings, { tenant, sim: 999_999 }), 3, /There is no SIM 999999/],
    ['a grace that is none', () => startSuspend(settings, { tenant, sim: 1, grace: '2h' }), 2, /grace.*duration/],
    ['a dry run of no cycle', () => startMonthEnd(settings, { tenant, cycle: '7', dryRun: true }), 3, /not_found/],
    ['a cycle that has not ended', () => startMonthEnd(settings, { tenant, cycle: '2199-01' }), 4, /cycle_open/],
    ['a file that is not there', () => startBulk(settings, '/nowhere.csv', { tenant }), 3, /csv cannot be read/],
    ['an instant that is none', () => startUndo(settings, { tenant, rule: 'r', since: 'noon' }), 2, /since/],
    ['an absent workflow', () => showWorkflow(settings, `month-end-reprovision:${tenant}:x`, {}), 3, /no workflow/],
    ['an id that is none', () => showWorkflow(settings, 'seven', {}), 2, /got the id 'seven', expected one as/],
  ])('refuses %s with what it got and expected', async (_, call, exitCode, message) => {
    const failure = await failureOf(call())
    expect([failure.exitCode, failure.message]).toEqual([exitCode, expect.stringMatching(message)])
  })
})

describe('simherd workflows', () => {
  test('lists, shows, updates, signals, cancels and retries a run', async () => {
    const { id: sim, suspension } = await activeSim()
    await startSuspend(settings, { tenant, sim, grace: 'PT2H' })
    await soon(async () => {
      lines.length = 0
      await printWorkflows(settings, { tenant, type: 'suspend-on-overage', state: 'grace', sim, page: 1, pageSize: 10 })
      expect(lines.at(-1)).toBe('1 in all')
    })
    expect(lines.at(-2)).toMatch(new RegExp(`^${suspension} +running +grace `))

    // The phase becomes `grace` slightly before the run shows what it waits for.
    await soon(async () => {
      lines.length = 0
      await showWorkflow(settings, suspension, {})
      expect(lines).toContainEqual(expect.stringMatching(/^Waits for .*grace.* until 20\d\d-.*PT2H/))
    })
    expect(lines[0]).toMatch(/^suspend-on-overage of SIM \d+, cycle \d{4}-\d\d: running, grace$/)

    lines.length = 0
    await updateWorkflow(settings, suspension, 'extendGrace', { by: 'PT1H' })
    expect(lines[0]).toBe(`${suspension}: extendGrace is taken`)
    const refused = await failureOf(
      updateWorkflow(settings, suspension, 'extendGrace', { until: '2026-01-01T00:00:00Z' }),
    )
    expect([refused.exitCode, refused.message]).toEqual([4, expect.stringContaining('409 update_refused')])
    const unknown = await failureOf(updateWorkflow(settings, suspension, 'extend', {}))
    expect(unknown.message).toContain("got 'extend', expected resume, keepSuspended, extendGrace")

    lines.length = 0
    await signalWorkflow(settings, suspension, 'cleared', {})
    await soon(async () => {
      lines.length = 0
      await showWorkflow(settings, suspension, {})
      expect(lines[0]).toMatch(/running, idle$/)
    })

    await cancelWorkflow(settings, suspension, { wait: true })
    lines.length = 0
    await retryWorkflow(settings, suspension, {})
    expect(lines[0]).toMatch(/is started again as run /)
    const runs = await failureOf(retryWorkflow(settings, suspension, {}))
    expect([runs.exitCode, runs.message]).toEqual([4, expect.stringContaining('409 workflow_not_retryable')])
    await cancelWorkflow(settings, suspension, { wait: true })
  })

  test('prints JSON with the status line on stderr', async () => {
    const { id: sim, suspension } = await activeSim()
    await startSuspend(settings, { tenant, sim, grace: 'PT2H' })
    for (const list of [lines, statusLines]) list.length = 0

    await showWorkflow(settings, suspension, { output: 'json' })
    expect(JSON.parse(lines.splice(0).join('\n'))).toMatchObject({
      workflowId: suspension,
      status: 'running',
      pending: { workers: 1 },
    })

    const watching = failureOf(watchWorkflow(settings, suspension, { output: 'json' }))
    await cancelWorkflow(settings, suspension, {})
    const { exitCode } = await watching
    lines.shift()
    expect([exitCode, JSON.parse(lines.join('\n')).status, statusLines]).toEqual([1, 'cancelled', []])
  })

  test('shows a run that no worker works on', async () => {
    const sim = await aSim()
    giveUp()
    await service.worker.stop()

    await startProvision(settings, { tenant, sim: sim.id, pool: poolId })
    lines.length = 0
    await showWorkflow(settings, sim.workflowId, {})

    expect(lines[0]).toMatch(/^provision-and-activate of SIM \d+, pool \d+: running$/)
    expect(lines).toContainEqual(expect.stringContaining('steps and waits are not known'))
  })
})
