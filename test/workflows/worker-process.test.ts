/** A worker in its own process: what an operator sees of a failed run, and of a replaced key. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Connection, WorkflowClient } from '@temporalio/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { suspendOnOverageId } from '../../domain/temporal/ids.ts'
import { PLATFORM } from '../../domain/tenants/tenant.ts'
import { type Service, startService } from '../setup/service.ts'
import { soon } from '../setup/soon.ts'

let folder: string
let file: string
let service: Service
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'simherd-key-'))
  file = join(folder, 'service-key')
  // The file does not exist yet: the worker uses SERVICE_KEY.
  service = await startService({ SERVICE_KEY_FILE: file })
})
afterAll(async () => {
  await service?.stop()
  await rm(folder, { recursive: true, force: true })
})

const ready = async () => {
  const response = await fetch(`${service.workerUrl}/readyz`)
  const { dependencies } = (await response.json()) as { dependencies: { name: string; detail: string }[] }
  return { status: response.status, key: dependencies.find(({ name }) => name === 'service key')?.detail }
}

/** A tenant with a pool and an Unprovisioned SIM. */
async function anEstate(iccid: string) {
  const { call } = service
  const { id: tenant } = await call('POST', '/internal/tenants', '', { name: 'Ours', billingEmail: 'b@example.com' })
  const standardTariff = { baseTariffGb: 1, simMonthlyFee: 1.5, smsFee: 0.05, voiceFee: 0.1, overageFeePerGb: 2.25 }
  const tariff = { displayName: 'Plain', type: 0, standardTariff }
  const { id: tariffId } = await call('POST', '/internal/tariffs', tenant, tariff)
  const { id: poolId } = await service.tenantCall('POST', '/api/pools', tenant, { type: 0, tariffId, watchdogMode: 1 })
  const { created } = await call('POST', '/internal/sims', tenant, { sims: [{ iccid }] })
  return { tenant, poolId, simId: created[0].id }
}

test('counts a failed run that enforcement meets', async () => {
  const { tenant, simId } = await anEstate('8999990000000077776')
  // The worker opens the cycle.
  const cycle = await soon(async () => (await service.call('GET', '/internal/cycles', tenant))[0].key)
  const options = { cycle, rule: 'r', ruleFile: 'r.json', grace: 'PT1H', until: 'renewal', signal: 'overLimit' }
  const arm = () =>
    service.call('POST', '/internal/workflows/enforce-pool/arm', tenant, { simIds: [simId], ...options })
  const figures = async () => (await fetch(`${service.workerUrl}/metrics`)).text()
  await arm()
  const { address, namespace } = service.temporal
  const connection = await Connection.connect({ address })
  const run = new WorkflowClient({ connection, namespace }).getHandle(suspendOnOverageId(tenant, simId, cycle))
  await soon(() => run.terminate('for the test'))
  await connection.close()
  expect(await figures()).not.toContain('simherd_failed_runs_met_total{')
  await arm()

  const line = 'simherd_failed_runs_met_total{type="suspend-on-overage"} 1'
  await soon(async () => expect(await figures()).toContain(line))
  // The run may have logged the start of its grace period before.
  const { data } = await service.tenantCall('GET', '/api/watchdog/logs', tenant)
  expect(data.filter(({ level }: { level: number }) => level === 2)).toMatchObject([{ simId }])
})

test('goes on after its refused key is replaced', async () => {
  const newKey = (name: string) => service.call('POST', '/internal/keys', PLATFORM, { name, scopes: ['operator'] })
  const { key: peoples } = await newKey('people')
  const send = async (method: string, path: string, tenant: string, body?: object) => {
    const headers = { authorization: `Bearer ${peoples}`, 'x-tenant-id': tenant, 'content-type': 'application/json' }
    const response = await fetch(`${service.internalUrl}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === '' ? null : JSON.parse(text)
  }
  const { tenant, poolId, simId } = await anEstate('8999990000000077777')
  expect(await ready()).toEqual({ status: 200, key: 'the service takes it' })

  const [, id = ''] = /^sim_([0-9a-f]+)_/.exec(service.key) ?? []
  await send('DELETE', `/internal/keys/${id}`, PLATFORM)
  await soon(async () => expect(await ready()).toMatchObject({ status: 503, key: expect.stringContaining('revoked') }))
  const { created } = await send('POST', '/internal/sims', tenant, { sims: [{ iccid: '8999990000000077778' }] })
  const start = async (type: string, input: object): Promise<string> =>
    `/internal/workflows/${(await send('POST', `/internal/workflows/${type}`, tenant, input)).workflowId}`
  const alone = await start('provision-and-activate', { simId, poolId })
  const inBulk = await start('provision-in-bulk', { sims: [{ simId: created[0].id, poolId }] })
  const monthEnd = await start('month-end-reprovision', { cycle: monthBefore(new Date()) })
  for (const run of [alone, inBulk, monthEnd]) {
    await soon(async () => {
      const [activity] = (await send('GET', `${run}/pending`, tenant)).activities
      expect(activity).toMatchObject({ status: 'waiting', lastFailure: { code: 'unauthorized' } })
      // Half a minute after the refusal, less the time since.
      expect(Date.parse(activity.nextAttemptAt) - Date.now()).toBeGreaterThan(10_000)
    })
  }
  expect(service.lines.join('\n')).toContain("the service refuses the workers' key")

  const { key } = await send('POST', '/internal/keys', PLATFORM, { name: 'workers', scopes: ['operator'] })
  await writeFile(file, `${key}\n`)
  await soon(async () => expect(await ready()).toEqual({ status: 200, key: 'the service takes it' }))
  const untilCompleted = (run: string, result: object) =>
    soon(async () => expect(await send('GET', run, tenant)).toMatchObject({ status: 'completed', result }))
  await untilCompleted(alone, { outcome: 'activated' })
  await untilCompleted(inBulk, { counts: { activated: 1 } })
  await untilCompleted(monthEnd, {})
  const cycles: { key: string; closedAt: string | null }[] = await send('GET', '/internal/cycles', tenant)
  expect(cycles.find(({ key }) => monthEnd.endsWith(key))?.closedAt).toEqual(expect.any(String))
})

/** Key of the cycle that ended last. */
function monthBefore(now: Date): string {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).toISOString().slice(0, 7)
}
