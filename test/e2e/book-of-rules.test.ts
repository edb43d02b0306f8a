/** The book of rules, as a stranger would follow it: what is typed is typed, and must print what the book shows. */
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { iccidOf } from '../../domain/identifiers.ts'
import { childEnv } from '../../process/child-env.ts'
import { type Block, blocksOf, isAsShown, typedIn } from '../setup/console.ts'
import { aMeterTenant } from '../setup/meters.ts'
import { startService } from '../setup/service.ts'
import { until, untilInstant } from '../setup/soon.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BOOK = 'docs/rules.md'
/** How the book calls the tenant. */
const TENANT = 't0123456789ab'
/** How it calls a tenant of which a billing cycle has ended. */
const PAST_TENANT = 't0fedcba98765'
/** Billing cycle of that tenant. */
const PAST_CYCLE = { billingCycle: 'PT1M' }
const PAST_CYCLE_MS = 60_000
/** What is printed may come a moment later: the watchdog looks when it was asked to. */
const PATIENCE_S = 60
const READS = /^npx simherd (alerts|silences list|rules (shadow-log|history|show|explain|coverage)) /

const service = await startService()
const folder = await mkdtemp(join(tmpdir(), 'simherd-book-'))
afterAll(async () => {
  await service.stop()
  await rm(folder, { recursive: true })
})

/** A tenant with three meters, of which one has sent 25 messages. */
async function anEstate(first = 1, settings = {}): Promise<string> {
  const tenant = { name: 'Meadow', billingEmail: 'billing@meadow.example', ...settings }
  const pool = { watchdogMode: 1, warningThresholdPct: 80 }
  const { tenantId: id, poolIds } = await aMeterTenant(service, tenant, ['meters'], pool)
  const iccids = [0, 1, 2].map((n) => iccidOf(`894450${String(first + n).padStart(12, '0')}`))
  const sims = iccids.map((iccid, n) => ({ iccid, tag: `meter-${n + 1}` }))
  const { created } = await service.call('POST', '/internal/sims', id, { sims })
  for (const { id: simId } of created) {
    await service.call('POST', '/internal/workflows/provision-and-activate', id, { simId, poolId: poolIds.meters })
  }
  await until('active SIMs', async () => (await service.tenantCall('GET', '/api/sims?status=1', id)).data.length === 3)
  const at = new Date().toISOString()
  const used = { at, bytesUp: 10_000_000, bytesDown: 10_000_000 }
  const smsCount = (n: number) => (n === 0 ? 25 : 1)
  const records = iccids.map((iccid, n) => ({ recordId: `book-${n}`, iccid, ...used, smsCount: smsCount(n) }))
  await service.call('POST', '/internal/usage', id, { records })
  return id
}

/** Runs a line of a shell where the book is read: in a checkout. @returns what it prints, on both outputs */
const run = (line: string) =>
  new Promise<string>((resolve) => {
    const env = childEnv({ SERVICE_INTERNAL_URL: service.internalUrl, SERVICE_KEY: service.key })
    execFile('sh', ['-c', `( ${line} ) 2>&1`], { cwd: folder, env }, (_, printed) => resolve(printed.trimEnd()))
  })

/** Instants and keys differ from run to run, and are as wide. */
const timeless = (text: string) =>
  text
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{3}Z)?)?/g, (instant) => instant.replace(/\d/g, '0'))
    .replace(/key:[0-9a-f]{12}/g, 'key:000000000000')

/** A tenant as the other, whose meters have sent their messages in a cycle that has ended. */
async function aPastEstate(): Promise<string> {
  const id = await anEstate(4, PAST_CYCLE)
  await untilInstant(Math.ceil(Date.now() / PAST_CYCLE_MS) * PAST_CYCLE_MS + 1000)
  return id
}

/** Ids of the tenants: what the book calls them, and what they are called here. */
type Tenants = ReadonlyMap<string, Promise<string>>

async function follow(block: Block, tenants: Tenants): Promise<void> {
  const [language, file] = block.info.split(' ')
  if (file !== undefined) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), block.text)
  }
  if (language !== 'console') return
  for (const { command, printed, line } of typedIn(block)) {
    let typed = command.replaceAll(/^npx simherd/gm, `node ${ROOT}cli/simherd.js`)
    const named = [...tenants.keys()].filter((name) => command.includes(name))
    const ids = new Map(await Promise.all(named.map(async (name) => [name, await tenants.get(name)] as const)))
    for (const [name, id = ''] of ids) typed = typed.replaceAll(name, id)
    let got = ''
    const isShown = async () => {
      got = await run(typed)
      for (const [name, id = ''] of ids) got = got.replaceAll(id, name)
      return isAsShown(timeless(printed), timeless(got))
    }
    const is = READS.test(command) ? await until(command, isShown, PATIENCE_S).catch(() => false) : await isShown()
    expect(is, `${BOOK}:${line}: ${command}\n${got}`).toBe(true)
  }
}

test('prints what the book of rules shows', async () => {
  for (const name of ['examples', 'rules']) await cp(join(ROOT, name), join(folder, name), { recursive: true })
  // The first, so that its SIMs and pools have the ids that the book shows.
  const tenant = await anEstate()
  const tenants = new Map([
    [TENANT, Promise.resolve(tenant)],
    [PAST_TENANT, aPastEstate()],
  ])

  for (const block of blocksOf(await readFile(join(ROOT, BOOK), 'utf8'))) await follow(block, tenants)
})
