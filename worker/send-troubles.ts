/** Sends reports on failing activities to the service: together, once a second at most, and again until it takes them. */
import { ApplicationFailure } from '@temporalio/activity'
import type { ServiceAddress } from '../activities/client.ts'
import { failureOfResponse } from '../activities/failures.ts'
import { fixedKey, sendWithKey } from '../activities/service-key.ts'
import { openAddresses } from '../adapters/rest/addresses.ts'
import { bodyOrThrow, internalClient } from '../adapters/rest/client.ts'
import { tenantOfWorkflow } from '../domain/temporal/ids.ts'
import {
  type EndedActivity,
  type FailingActivity,
  MOST_REPORTS,
  type TroubleReport,
} from '../domain/workflows/trouble.ts'
import type { TroubleReports } from './report-troubles.ts'

/** Pause before the reports of some activities are sent, in which others are added. */
const GATHER_MS = 1000
/** Pause after a failure. */
const RETRY_MS = 10_000
const REQUEST_MS = 3000
/** Activities with a waiting report. With more the service has been away for long: others are reported with a later attempt. */
const MOST_WAITING = 20_000

interface Report {
  readonly tenantId: string
  readonly activity: FailingActivity | EndedActivity
}

const isFailing = (activity: FailingActivity | EndedActivity): activity is FailingActivity => 'failedAt' in activity

/**
 * Keeps the newest report on each activity until the service has taken it. A thousand workflows that retry cause two or
 * three requests. @param onFailed called for each failed request
 */
export function sendTroubles(service: Pick<ServiceAddress, 'internalUrl' | 'key'>, onFailed: (error: Error) => void) {
  const key = typeof service.key === 'string' ? fixedKey(service.key) : service.key
  const addresses = openAddresses(service.internalUrl)
  const waiting = new Map<string, Report>()
  let timer: NodeJS.Timeout | undefined
  let sending: Promise<void> | undefined

  const post = (tenantId: string, body: TroubleReport) => {
    const client = internalClient({
      baseUrl: addresses.first,
      headers: { 'x-tenant-id': tenantId },
      fetch: (request) =>
        addresses.send(request, { timeoutMs: REQUEST_MS, send: (moved, signal) => sendWithKey(key, moved, signal) }),
    })
    return bodyOrThrow(client.POST('/internal/workflows/troubles', { body }), failureOfResponse)
  }

  /** @returns false if the service is away */
  async function sendSome(tenantId: string): Promise<boolean> {
    const some = [...waiting].filter(([, report]) => report.tenantId === tenantId).slice(0, MOST_REPORTS)
    for (const [id] of some) waiting.delete(id)
    const activities = some.map(([, { activity }]) => activity)
    try {
      await post(tenantId, {
        failing: activities.filter(isFailing),
        ended: activities.filter((activity) => !isFailing(activity)),
      })
      return true
    } catch (error) {
      onFailed(error instanceof Error ? error : new Error(String(error)))
      if (error instanceof ApplicationFailure && error.nonRetryable === true) return true
      // A report that came meanwhile is newer.
      for (const [id, report] of some) if (!waiting.has(id)) waiting.set(id, report)
      return false
    }
  }

  async function sendAll(): Promise<void> {
    for (let next = waiting.values().next(); next.done !== true; next = waiting.values().next()) {
      if (!(await sendSome(next.value.tenantId))) return sendIn(RETRY_MS)
    }
  }
  const send = () => {
    sending ??= sendAll().finally(() => (sending = undefined))
    return sending
  }
  function sendIn(ms: number): void {
    timer ??= setTimeout(() => {
      timer = undefined
      void send()
    }, ms).unref()
  }

  const add = (activity: FailingActivity | EndedActivity) => {
    const { workflowId, activityId } = activity
    const tenantId = tenantOfWorkflow(workflowId)
    const id = JSON.stringify([workflowId, activityId])
    if (tenantId === undefined || (waiting.size >= MOST_WAITING && !waiting.has(id))) return
    waiting.set(id, { tenantId, activity })
    sendIn(GATHER_MS)
  }
  const reports: TroubleReports = { failed: add, ended: add }
  return {
    reports,
    /** Tries once more to send what waits. */
    stop: async () => {
      await send()
      clearTimeout(timer)
    },
  }
}
