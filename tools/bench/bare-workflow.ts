/** A workflow that only calls activities that do nothing. */
import { proxyActivities } from '@temporalio/workflow'
import type { nothing } from './bare-worker.ts'

const activities = proxyActivities<{ nothing: typeof nothing }>({ startToCloseTimeout: '1 minute' })

/** @param count how many activities, one after the other */
export async function bare(count: number): Promise<void> {
  for (let done = 0; done < count; done += 1) await activities.nothing()
}
