import { expect, test } from 'vitest'
import { pauseMs } from '../../setup/soon.ts'

test('a wait looks less often the longer it lasts', () => {
  expect([0, 100, 1000, 10_000, 20_000, 60_000].map(pauseMs)).toEqual([20, 20, 50, 500, 1000, 1000])
})
