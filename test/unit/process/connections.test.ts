import { expect, test } from 'vitest'
import { ENQUEUERS } from '../../../adapters/queues/backend.ts'
import { readSettings } from '../../../process/settings.ts'

/** PostgreSQL's default of 100 connections, less 3 reserved for superusers, and 7 for commands and for people. */
const ROOM = 100 - 3 - 7

test('two APIs and two workers fit PostgreSQL’s default connection limit', () => {
  const { DATABASE_POOL, QUEUE_POOL } = readSettings({})

  // An API has one more, which hears of changed keys.
  expect(2 * (DATABASE_POOL + ENQUEUERS + 1) + 2 * (DATABASE_POOL + ENQUEUERS + QUEUE_POOL)).toBeLessThanOrEqual(ROOM)
})
