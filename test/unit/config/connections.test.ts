import { expect, test } from 'vitest'
import { readSettings } from '../../../config/index.ts'
import { ENQUEUERS } from '../../../queues/backend.ts'

/** PostgreSQL's own default, less what it keeps for its superuser, and some for commands and whoever looks. */
const ROOM = 100 - 3 - 7

test('two APIs and two workers find room in a PostgreSQL as it is installed', () => {
  const { DATABASE_POOL, QUEUE_POOL } = readSettings({})

  expect(2 * (DATABASE_POOL + ENQUEUERS) + 2 * (DATABASE_POOL + ENQUEUERS + QUEUE_POOL)).toBeLessThanOrEqual(ROOM)
})
