/**
 * Runs one attack as fast as its concurrency allows, until SIGTERM. Then it prints the statuses of the responses. For
 * attacks.ts.
 */
import { gzipSync } from 'node:zlib'

const MIB = 1024 * 1024
const WRONG_KEY = `sim_0123456789ab_${'x'.repeat(43)}`

export const ATTACKS = {
  'a MiB of unknown fields': { concurrency: 2, prepare: unknownFields },
  'an endless gzipped line': { concurrency: 1, prepare: endlessLine },
  'a flood without keys': { concurrency: 50, prepare: withoutKey },
  'a flood of wrong keys': { concurrency: 50, prepare: wrongKey },
  'searches over all SIMs': { concurrency: 120, prepare: getting('/api/sims?search=zz') },
  'changes of one large pool': { concurrency: 60, prepare: poolChanges },
  'changes of one SIM': { concurrency: 300, prepare: simChanges },
  'the SIMs of a large pool': { concurrency: 24, prepare: poolSims },
  'the script of /docs': { concurrency: 8, prepare: getting('/docs/js/scalar.js') },
  'a field name of a MiB': { concurrency: 2, prepare: longName },
  'a path of 15,000 characters': { concurrency: 4, prepare: getting(`/${'x'.repeat(15_000)}`) },
  '100 million blank lines, gzipped': { concurrency: 1, prepare: blankLines },
} as const
export type Attack = keyof typeof ATTACKS

/** The means of an attack. */
export interface Weapons {
  readonly apiUrl: string
  readonly internalUrl: string
  /** A tenant's key. */
  readonly key: string
  /** An operator's key, for delivering usage. */
  readonly operatorKey: string
  readonly tenantId: string
  /** A pool of the tenant with all its SIMs, and one of them. */
  readonly poolId: number
  readonly simId: number
}

type Send = () => Promise<Response>

function unknownFields({ apiUrl, key }: Weapons): Send {
  const fields: string[] = []
  for (let used = 2; used < MIB - 20; used += (fields.at(-1)?.length ?? 0) + 1) fields.push(`"f${fields.length}":1`)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const body = `{${fields.join(',')}}`
  return () => fetch(`${apiUrl}/api/tenant/name`, { method: 'PATCH', headers, body })
}

/** Reads an address with the tenant's key. */
function getting(path: string): (weapons: Weapons) => Send {
  return ({ apiUrl, key }) => {
    const headers = { authorization: `Bearer ${key}` }
    return () => fetch(`${apiUrl}${path}`, { headers })
  }
}

/** Sends a change that differs each time. */
function changing({ apiUrl, key }: Weapons, method: string, path: string, body: (n: number) => object): Send {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  let n = 0
  return () => fetch(`${apiUrl}${path}`, { method, headers, body: JSON.stringify(body(n++)) })
}

function poolChanges(weapons: Weapons): Send {
  return changing(weapons, 'PUT', `/api/pools/${weapons.poolId}`, (n) => ({
    name: `Pool ${n}`,
    watchdogMode: n % 3,
    warningThresholdPct: 50 + (n % 40),
  }))
}

function simChanges(weapons: Weapons): Send {
  return changing(weapons, 'PATCH', `/api/sims/${weapons.simId}/tag`, (n) => ({ tag: `tag ${n}` }))
}

function longName(weapons: Weapons): Send {
  return changing(weapons, 'PATCH', `/api/sims/${weapons.simId}/tag`, () => ({ ['x'.repeat(MIB - 20)]: 1 }))
}

function poolSims(weapons: Weapons): Send {
  return getting(`/api/pools/${weapons.poolId}/sims`)(weapons)
}

/** 97 KB. */
function blankLines(weapons: Weapons): Send {
  return sendingUsage(weapons, gzipSync('\n'.repeat(100_000_000), { level: 9 }))
}

/** 4 GiB, compressed to 4 MiB: gzip allows several streams one after the other. */
function endlessLine(weapons: Weapons): Send {
  const member = gzipSync('x'.repeat(MIB), { level: 9 })
  return sendingUsage(weapons, Buffer.concat(Array.from({ length: 4096 }, () => member)))
}

function sendingUsage({ internalUrl, operatorKey, tenantId }: Weapons, body: Buffer<ArrayBuffer>): Send {
  const headers = {
    authorization: `Bearer ${operatorKey}`,
    'x-tenant-id': tenantId,
    'content-type': 'application/x-ndjson',
    'content-encoding': 'gzip',
  }
  return () => fetch(`${internalUrl}/internal/usage`, { method: 'POST', headers, body })
}

function withoutKey({ apiUrl }: Weapons): Send {
  return () => fetch(`${apiUrl}/api/tenant`)
}

function wrongKey({ apiUrl }: Weapons): Send {
  return () => fetch(`${apiUrl}/api/tenant`, { headers: { authorization: `Bearer ${WRONG_KEY}` } })
}

const isAttack = (name: string): name is Attack => Object.hasOwn(ATTACKS, name)

const [, , name, weapons] = process.argv
if (import.meta.main && name !== undefined && weapons !== undefined && isAttack(name)) {
  const { concurrency, prepare } = ATTACKS[name]
  const send = prepare(JSON.parse(weapons))
  const statuses = new Map<string, number>()
  process.on('SIGTERM', () => {
    console.log(JSON.stringify(Object.fromEntries(statuses)))
    process.exit(0)
  })
  const takeNext = async () => {
    for (;;) {
      const status = await send()
        .then(async (response) => {
          await response.arrayBuffer()
          return String(response.status)
        })
        .catch(() => 'no response')
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, takeNext))
}
