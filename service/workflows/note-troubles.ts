/** Notes which activities fail again and again, and which have ended. Safe to run twice. */
import { quote } from '../../domain/quote.ts'
import { MOST_DETAIL, type TroubleReport } from '../../domain/workflows/trouble.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { removeTroubles, saveTroubles } from './rows/troubles.ts'

export async function noteTroubles(tx: TenantTx, { failing, ended }: TroubleReport): Promise<void> {
  await saveTroubles(
    tx,
    failing.map((one) => ({ ...one, detail: quote(one.detail, MOST_DETAIL) })),
  )
  await removeTroubles(tx, ended)
}
