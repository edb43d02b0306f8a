import { mustAnswer } from './answers.ts'
import type { Calls } from './calls.ts'

/** The currency of the tenant: ISO 4217. */
export const readCurrency = async ({ inside }: Calls): Promise<string> =>
  (await mustAnswer(inside.GET('/internal/tenant'))).currency

/** What a field for a price or a fee takes. */
export const PRICE = { from: 0, to: 1_000_000, isDecimal: true, isRequired: true } as const
