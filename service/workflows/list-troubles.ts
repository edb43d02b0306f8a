/** Lists activities that fail again and again. Temporal is asked which of the reported ones still do. */
import type { WorkflowClient } from '../../adapters/temporal/client.ts'
import type { Retry } from '../../adapters/temporal/read-pending.ts'
import { ServiceError } from '../../domain/errors.ts'
import { toPage } from '../../domain/page.ts'
import { quote } from '../../domain/quote.ts'
import {
  MOST_DETAIL,
  MOST_LISTED,
  type Trouble,
  type TroubleQuery,
  type Troubles,
} from '../../domain/workflows/trouble.ts'
import { inTenant, readOnly, type Store } from '../../store/tenancy.ts'
import { pageOfTroubles, removeTroubles } from './rows/troubles.ts'

type RetriesDoor = Pick<WorkflowClient, 'retries'>

/**
 * A page of the reported activities, with their attempts of now. Those that no longer retry are left out and deleted. If
 * Temporal is away, all are listed as they were reported.
 */
export async function listTroubles(
  store: Store,
  door: RetriesDoor,
  { tenantId, query }: { readonly tenantId: string; readonly query: TroubleQuery },
): Promise<Troubles> {
  const page = { page: query.page ?? 1, pageSize: query.pageSize ?? MOST_LISTED }
  const { troubles, totalItems } = await inTenant(readOnly(store), tenantId, (tx) => pageOfTroubles(tx, page))
  const retries = await retriesOf(door, troubles, tenantId)
  if (retries === undefined) return { ...toPage(page, totalItems, troubles), isChecked: false }
  const found = troubles.map((trouble) => ({ trouble, retry: retries.find((one) => isSame(one, trouble)) }))
  const data = found.flatMap(({ trouble, retry }) => (retry === undefined ? [] : [asOfNow(trouble, retry)]))
  const gone = found.flatMap(({ trouble, retry }) => (retry === undefined ? [trouble] : []))
  if (gone.length > 0) await inTenant(store, tenantId, (tx) => removeTroubles(tx, gone))
  return { ...toPage(page, totalItems - gone.length, data), isChecked: true }
}

/** Undefined if Temporal is away. */
async function retriesOf(door: RetriesDoor, troubles: readonly Trouble[], tenantId: string) {
  if (troubles.length === 0) return []
  try {
    return await door.retries([...new Set(troubles.map(({ workflowId }) => workflowId))], tenantId)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'unavailable') return undefined
    throw error
  }
}

/** A later run of a workflow numbers its activities from 1 again. */
const isSame = (retry: Retry, { workflowId, activityId, activity }: Trouble): boolean =>
  retry.workflowId === workflowId && retry.activityId === activityId && retry.activity === activity

const asOfNow = (trouble: Trouble, { attempt, failedAt, lastFailure, nextAttemptAt }: Retry): Trouble => ({
  ...trouble,
  ...(lastFailure !== null && { code: lastFailure.code, detail: quote(lastFailure.detail, MOST_DETAIL) }),
  attempt,
  failedAt: failedAt ?? trouble.failedAt,
  nextAttemptAt,
})
