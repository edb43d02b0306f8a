import { describe, expect, test } from 'vitest'
import { whyNotImport } from '../../../tools/boundaries.ts'

const file = (target: string, ...values: string[]) => ({ target, isPackage: false, values })
const packaged = (target: string, ...values: string[]) => ({ target, isPackage: true, values })

describe('whyNotImport', () => {
  const [MAILS, TICKETS] = ['service/channels/rows/mails.ts', 'service/tickets/rows/tickets.ts']
  const [RENDER, TENANCY] = ['adapters/channels/mail/render-mail.ts', file('store/tenancy.ts', 'inTenant')]
  const [CARRIER, BACKEND] = ['adapters/carrier/network.ts', 'adapters/queues/backend.ts']
  const RATE = file('workflows/run/rate.ts', 'pace')
  test.each([
    ['a folder below', 'service/channels/send-mails.ts', file(MAILS, 'lockMails')],
    ['its own folder', MAILS, TENANCY],
    ['types of a folder that gives it types', MAILS, file('domain/notifications/notification.ts')],
    ['the value that is named', 'service/tickets/apply-tickets.ts', file(CARRIER, 'CarrierError')],
    ['a file of the bundle', 'workflows/run/rate.ts', file('domain/time/duration.ts', 'durationMs')],
    ['types of any package', 'domain/page.ts', packaged('kysely')],
    ['a package of its list', MAILS, packaged('kysely', 'sql')],
    ['anything, for a test', 'test/unit/x.test.ts', RATE],
    ['a noun that another stands on', TICKETS, file('service/sims/rows/sims.ts', 'simLabels')],
    ['the root of a floor', TICKETS, TENANCY],
    ['its own rows', 'service/alerts/page-of-alerts.ts', file('service/alerts/rows/alerts.ts', 'saveAlerts')],
    ['another adapter, for an entry point', 'worker/start-worker.ts', file(BACKEND, 'connect')],
  ])('allows a file to import %s', (_, from, wanted) => {
    expect(whyNotImport(from, wanted)).toBeUndefined()
  })

  test.each([
    ['a folder above', 'domain/page.ts', file('store/paging.ts'), 'it does not import store/paging.ts'],
    ['a value where types are given', MAILS, file(RENDER, 'renderMail'), 'types only'],
    ['another value than the named', 'service/tickets/x.ts', file(CARRIER, 'send'), 'types only'],
    ['all of a file', MAILS, file(RENDER, '*'), 'types only'],
    ['what decides, from rows', 'service/sims/rows/sims.ts', file('service/sims/tag-sim.ts', 'tagSim'), 'types only'],
    ['another adapter', 'adapters/temporal/client.ts', file(BACKEND, 'x'), 'it does not import'],
    ['a door from another', 'api/main.ts', file('worker/start-worker.ts', 'startWorker'), 'it does not import worker/'],
    ['the store, from the console', 'console/main.ts', file('store/tenancy.ts', 'inTenant'), 'any client'],
    [
      'the service, from the console',
      'console/main.ts',
      file('service/tenants/use-session.ts', 'useSession'),
      'any client',
    ],
    ['a package not of its list', 'domain/page.ts', packaged('kysely', 'sql'), 'of kysely it imports types only'],
    ['a value, from the bundle', 'domain/time/cycle.ts', file('domain/codes.ts', 'labelOf'), 'enters the bundle'],
    ['a noun that stands on it', 'service/sims/rows/sims.ts', file(TICKETS, 'x'), 'only pools, tariffs, usage;'],
    ['a noun, from the root of the store', 'store/tenancy.ts', file(TICKETS), 'it imports no noun'],
  ])('forbids a file to import %s', (_, from, wanted, why) => {
    expect(whyNotImport(from, wanted)).toContain(why)
  })

  test('treats `service/workflows/` as service, not as workflows', () => {
    expect(whyNotImport('api/main.ts', file('service/workflows/provision-input.ts', 'inputs'))).toBeUndefined()
  })
})
