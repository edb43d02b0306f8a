/** The simulated carrier in the test's own process, and the network adapter that calls it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { httpNetwork } from '../../adapters/carrier/http-network.ts'
import { startCarrier } from '../../stack/carrier/carrier.ts'
import type { Knobs } from '../../stack/carrier/knobs.ts'

const SECRET = 'secret-of-the-tests'

interface Stats {
  readonly calls: number
  readonly effects: number
  readonly doubleEffects: number
  readonly unauthorized: number
}

export async function aCarrier(knobs: Partial<Knobs> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'simherd-carrier-'))
  const carrier = await startCarrier({ file: join(folder, 'carrier.jsonl'), secret: SECRET, knobs })
  afterAll(async () => {
    await carrier.stop()
    await rm(folder, { recursive: true, force: true })
  })
  const headers = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' }
  return {
    url: carrier.url,
    secret: SECRET,
    network: httpNetwork({ url: carrier.url, secret: SECRET, timeoutMs: 30_000 }),
    stats: async () => (await (await fetch(`${carrier.url}/stats`, { headers })).json()) as Stats,
    turn: (change: Partial<Knobs>) =>
      fetch(`${carrier.url}/knobs`, { method: 'PUT', headers, body: JSON.stringify(change) }),
  }
}
