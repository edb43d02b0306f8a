import { readRecord } from '../../domain/usage/usage-record.ts'
import { countUsage, type UsageOptions, type UsageResponse } from '../../service/usage/count-usage.ts'
import type { Store } from '../../store/tenancy.ts'

/** Counts records as received, unchecked. @param options.firstIndex place of the first one in its delivery */
export const recordUsage = (
  store: Store,
  tenantId: string,
  values: readonly unknown[],
  { maxAgeMs, firstIndex }: UsageOptions & { readonly firstIndex?: number | undefined } = {},
): Promise<UsageResponse> =>
  countUsage(
    { store, tenantId },
    values.map((value) => readRecord(value, store.clock(), maxAgeMs)),
    firstIndex,
  )
