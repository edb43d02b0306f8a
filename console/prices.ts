import { price } from '../domain/quantity.ts'
import { mustAnswer } from './answers.ts'
import type { Calls } from './calls.ts'

/** Writes units of the tenant's currency: `EUR 0.04`. */
export type WritePrice = (units: number) => string

export async function readWritePrice({ inside }: Calls): Promise<WritePrice> {
  const { currency } = await mustAnswer(inside.GET('/internal/tenant'))
  return (units) => price(units, currency)
}

/** What a field for a price or a fee takes. */
export const PRICE = { from: 0, to: 1_000_000, isDecimal: true, isRequired: true } as const
