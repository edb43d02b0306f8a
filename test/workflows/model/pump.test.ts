import { expect, test } from 'vitest'
import type { Handlers } from '../../../adapters/queues/backend.ts'
import { makePump } from './pump.ts'

const idle = async () => undefined
const HANDLERS: Handlers = {
  tickets: idle,
  bulk: idle,
  evaluate: idle,
  sweep: idle,
  mail: idle,
  workflows: idle,
  webhooks: idle,
}

test('a pump says that work stays due whatever its handlers do', async () => {
  const pump = makePump()
  const run = async () => pump.enqueue([{ queue: 'mail', tenantId: 't' }])
  pump.start(HANDLERS, [{ name: 'mails', run }], idle)

  await expect(pump.settled()).rejects.toThrow('due work remains')
  await pump.stop()
})
