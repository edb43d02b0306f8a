/**
 * Shares a process' connections to the database among tenants: one tenant's requests do not delay another's.
 *
 * A transaction may start if more connections are free than its tenant uses. A tenant alone gets half of the
 * connections, a second tenant a quarter, and a tenant that uses none finds one free. Waiting transactions start tenant
 * by tenant, each tenant's in their order (docs/decisions/0077-tenants-take-turns.md).
 */
import { ServiceError } from '../domain/errors.ts'

export interface Turns {
  /** Runs work when it is the tenant's turn. @param isRefusable whether too much waiting is `quota_exceeded` */
  readonly take: <T>(tenantId: string, work: () => Promise<T>, isRefusable?: boolean) => Promise<T>
  /** How many transactions run and wait, of all tenants. */
  readonly counts: () => { readonly running: number; readonly waiting: number }
}

interface TurnOptions {
  /** Connections of the pool. {@link KEPT} of them are reserved for keys and the platform. */
  readonly connections: number
  /** Most transactions of a tenant that wait. Default: 200, about as many as two workers have requests under way. */
  readonly mostWaiting?: number
  /** Longest wait of a transaction, in milliseconds. Default: 10 s, as for a connection. */
  readonly waitMs?: number
}

const KEPT = 2
const MOST_WAITING = 200
const WAIT_MS = 10_000
/** Seconds until a refused request may be sent again. */
const RETRY_AFTER = 1

export function openTurns({ connections, mostWaiting = MOST_WAITING, waitMs = WAIT_MS }: TurnOptions): Turns {
  const shared = Math.max(1, connections - KEPT)
  let free = shared
  const inUse = new Map<string, number>()
  /** In the order of turns: a tenant that gets one goes to the end. */
  const waiting = new Map<string, Set<() => void>>()
  const useOf = (tenantId: string) => inUse.get(tenantId) ?? 0

  const begin = (tenantId: string) => {
    free -= 1
    inUse.set(tenantId, useOf(tenantId) + 1)
  }
  const end = (tenantId: string) => {
    free += 1
    const left = useOf(tenantId) - 1
    if (left > 0) inUse.set(tenantId, left)
    else inUse.delete(tenantId)
    beginNext()
  }
  /** Begins what waits and may begin, tenant by tenant. */
  const beginNext = (): void => {
    const [tenantId, all] = waiting.entries().find(([id]) => free > useOf(id)) ?? []
    const first = all?.values().next().value
    if (tenantId === undefined || all === undefined || first === undefined) return
    waiting.delete(tenantId)
    all.delete(first)
    if (all.size > 0) waiting.set(tenantId, all)
    begin(tenantId)
    first()
    beginNext()
  }
  const wait = async (tenantId: string, isRefusable: boolean) => {
    const all = waiting.get(tenantId) ?? new Set()
    if (isRefusable && all.size >= mostWaiting) throw tooMany(`has ${all.size} requests waiting already`)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    waiting.set(tenantId, all.add(resolve))
    const giveUp = () => {
      all.delete(resolve)
      if (all.size === 0) waiting.delete(tenantId)
      reject(tooMany(`has so many requests under way that this one waited for ${waitMs / 1000} s`))
    }
    const timer = isRefusable ? setTimeout(giveUp, waitMs) : undefined
    return promise.finally(() => clearTimeout(timer))
  }

  return {
    take: async (tenantId, work, isRefusable = true) => {
      if (free > useOf(tenantId)) begin(tenantId)
      else await wait(tenantId, isRefusable)
      try {
        return await work()
      } finally {
        end(tenantId)
      }
    },
    counts: () => ({ running: shared - free, waiting: waiting.values().reduce((sum, { size }) => sum + size, 0) }),
  }
}

const tooMany = (what: string) =>
  new ServiceError('quota_exceeded', `The tenant ${what}. Nothing was done: send it again, and fewer at once.`, {
    retryAfter: RETRY_AFTER,
  })
