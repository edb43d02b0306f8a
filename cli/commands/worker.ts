/** `simherd worker` */
import { buildApp } from '../../api/http/app.ts'
import { createLog } from '../../process/create-log.ts'
import type { Settings } from '../../process/settings.ts'
import { startWorker } from '../../worker/start-worker.ts'
import { requireSettings } from '../failures.ts'
import { refuseDatabase } from '../refuse-database.ts'
import { runUntilSignal } from '../run-until-signal.ts'

/** Runs a worker until a signal. @throws CommandFailure for missing settings, or if the database refuses it for good */
export async function runWorker(settings: Settings): Promise<void> {
  requireSettings(settings, [
    'DATABASE_URL',
    'TEMPORAL_ADDRESS',
    'SMTP_URL',
    'CARRIER_URL',
    'CARRIER_SECRET',
    ...(settings.SERVICE_KEY_FILE === '' ? (['SERVICE_KEY'] as const) : []),
  ])
  const log = createLog(settings, 'worker')
  await runUntilSignal(log, async () => {
    await refuseDatabase(settings)
    return startWorker(settings, log, buildApp({}))
  })
}
