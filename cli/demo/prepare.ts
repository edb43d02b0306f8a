/** Decides whether to play the demonstration, and for which tenant. */

import type { InternalClient, PublicClient } from '../../adapters/rest/client.ts'
import { openInternalClient, openPublicClient, ProblemResponse, responseOf } from '../service.ts'
import { type Stack, typed } from '../stack-file.ts'
import { type DemoProgress, newProgress, readProgress, writeProgress } from './progress.ts'
import { cycleScript, monthEndScript, type Script } from './scripts.ts'

/** Which demonstration to play: `once` if it has not been played, `month-end` that of the month end. */
export type WantedDemo = boolean | 'once' | 'month-end'

export interface Play {
  readonly script: Script
  readonly progress: DemoProgress
  /** Changes the stored progress, and writes it. */
  readonly note: (change: Partial<DemoProgress>) => Promise<DemoProgress>
  /** Client of the public interface, with the tenant's key. */
  readonly api: PublicClient
  /** Client of the internal interface, for the tenant. */
  readonly internal: InternalClient
  readonly stack: Stack
  readonly dataDir: string
}

export interface Preparation {
  readonly tenantId: string | null
  readonly tenantKey: string | null
  readonly state: Stack['demo']
  /** The play to run; undefined for none. */
  readonly play: Play | undefined
  /** The reason for playing nothing; empty if not requested. */
  readonly why: string
}

interface DemoOptions {
  readonly stack: Stack
  readonly dataDir: string
  /** Tenants that existed before. */
  readonly tenants: readonly string[]
  readonly wanted: WantedDemo
}

/** Decides, and makes the tenant if needed. Safe to run again after a crash. */
export async function prepareDemo({ stack, dataDir, tenants, wanted }: DemoOptions): Promise<Preparation> {
  const script = wanted === 'month-end' ? monthEndScript() : cycleScript()
  const kept = await readProgress(dataDir, script.file)
  const known = kept !== undefined && tenants.includes(kept.tenantId) ? kept : undefined
  if (known === undefined) {
    const nothing = { tenantId: null, tenantKey: null, state: null, play: undefined }
    if (wanted === false) return { ...nothing, why: '' }
    if (wanted === 'once' && tenants.length > 0) {
      return {
        ...nothing,
        why: `The database is not empty: no demonstration. "${typed(dataDir, 'npm start -- --demo')}" plays it for a tenant of its own.`,
      }
    }
    return toPlay(newProgress(await makeTenant(stack, script)), { script, stack, dataDir })
  }

  const tenantKey = await validKey(known, stack)
  const progress = { ...known, tenantKey }
  await writeProgress(dataDir, script.file, progress)
  const left = { tenantId: progress.tenantId, tenantKey, state: progress.state, play: undefined }
  if (wanted === false) return { ...left, why: '' }
  if (progress.state === 'done' && !script.hasMonthEnd) {
    return {
      ...left,
      why: `The demonstration has been played. "${typed(dataDir, 'npm start -- --fresh')}" plays it from nothing, "-- --demo=month-end" a month end.`,
    }
  }
  const again = progress.state === 'done' ? newProgress(progress) : { ...progress, state: 'running' as const }
  return toPlay(again, { script, stack, dataDir })
}

type Place = Pick<Play, 'script' | 'stack' | 'dataDir'>

async function toPlay(first: DemoProgress, { script, stack, dataDir }: Place): Promise<Preparation> {
  await writeProgress(dataDir, script.file, first)
  let progress: DemoProgress = { ...first }
  const { tenantId, tenantKey } = progress
  const note = async (change: Partial<DemoProgress>) => {
    progress = { ...progress, ...change }
    await writeProgress(dataDir, script.file, progress)
    return progress
  }
  const api = openPublicClient({ url: stack.apiUrl, key: tenantKey })
  const internal = openInternalClient({ url: stack.internalUrl, key: stack.operatorKey, tenantId })
  return {
    tenantId,
    tenantKey,
    state: 'running',
    why: '',
    play: { script, progress, note, api, internal, stack, dataDir },
  }
}

async function makeTenant(stack: Stack, { estate, ...script }: Script) {
  const platform = openInternalClient({ url: stack.internalUrl, key: stack.operatorKey })
  const billingCycle = script.billingCycle(Date.now())
  const { id, key } = await responseOf(platform.POST('/internal/tenants', { body: { ...estate.tenant, billingCycle } }))
  return { tenantId: id, tenantKey: key, billingCycle }
}

/** The tenant's key of the last run if it is still valid, else a new one. */
async function validKey({ tenantId, tenantKey }: DemoProgress, stack: Stack): Promise<string> {
  try {
    const { id } = await responseOf(openPublicClient({ url: stack.apiUrl, key: tenantKey }).GET('/api/tenant'))
    if (id === tenantId) return tenantKey
    throw new Error(
      `${stack.apiUrl}/api/tenant answered tenant ${id}, expected ${tenantId}: the key is another tenant's`,
    )
  } catch (error) {
    if (!(error instanceof ProblemResponse && error.status === 401)) throw error
    const operator = openInternalClient({ url: stack.internalUrl, key: stack.operatorKey, tenantId })
    const body = { name: 'simherd start', scopes: ['read' as const, 'write' as const, 'admin' as const] }
    return (await responseOf(operator.POST('/internal/keys', { body }))).key
  }
}
