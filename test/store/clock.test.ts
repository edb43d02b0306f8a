import { expect, test } from 'vitest'
import { clockDependency, registerClockOffset } from '../../process/clock-dependency.ts'
import { createMetrics } from '../../process/metrics.ts'
import { aStore } from '../setup/estate.ts'

const { db } = await aStore()

/** A process with a clock ahead by so many seconds. */
const ahead = (seconds: number) => ({ db, clock: () => Date.now() + seconds * 1000, enqueue: () => undefined })

test('a worker is ready while its clock is at most 30 s from the database’s', async () => {
  const { check, isRequired } = clockDependency(ahead(-20), true)

  expect(isRequired).toBe(true)
  expect(await check()).toMatch(/^this machine's clock is [12]\d\.\d s behind the database's$/)
  await expect(clockDependency(ahead(60), true).check()).rejects.toThrow(
    /^this machine's clock is [56]\d\.\d s ahead of the database's: set it, and keep it right by NTP$/,
  )
})

test('the difference is a metric', async () => {
  const metrics = createMetrics()
  registerClockOffset(metrics, ahead(-20))

  expect(await metrics.registry.metrics()).toMatch(/\nsimherd_clock_offset_seconds -[12]\d(\.\d+)?\n/)
})
