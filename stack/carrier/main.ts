/**
 * The simulated carrier as a process: `node stack/carrier/main.ts`. Its settings are CARRIER_FILE, CARRIER_PORT,
 * CARRIER_SECRET and CARRIER_KNOBS (JSON). When it is ready, it prints its address on one line.
 */
import { startCarrier } from './carrier.ts'

const { CARRIER_FILE: file, CARRIER_PORT = '0', CARRIER_SECRET: secret, CARRIER_KNOBS = '{}' } = process.env
if (!file || !secret) {
  console.error('the simulated carrier needs CARRIER_FILE (its journal) and CARRIER_SECRET')
  process.exit(2)
}
try {
  const carrier = await startCarrier({ file, secret, port: Number(CARRIER_PORT), knobs: JSON.parse(CARRIER_KNOBS) })
  console.log(`listening on ${carrier.url}`)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void carrier.stop())
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
