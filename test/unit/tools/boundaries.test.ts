import { describe, expect, test } from 'vitest'
import { whyNotImport } from '../../../tools/boundaries.ts'

const file = (target: string, ...values: string[]) => ({ target, isPackage: false, values })
const packaged = (target: string, ...values: string[]) => ({ target, isPackage: true, values })

describe('whyNotImport', () => {
  test.each([
    ['a folder below', 'service/channels/send-mails.ts', file('service/channels/rows/mails.ts', 'lockMails')],
    ['its own folder', 'service/channels/rows/mails.ts', file('store/tenancy.ts', 'inTenant')],
    [
      'types of a folder that gives it types',
      'service/channels/rows/mails.ts',
      file('domain/notifications/notification.ts'),
    ],
    [
      'the value that is named',
      'service/tickets/apply-tickets.ts',
      file('adapters/carrier/network.ts', 'CarrierError'),
    ],
    ['a file of the bundle', 'workflows/run/rate.ts', file('domain/time/duration.ts', 'durationMs')],
    ['types of any package', 'domain/page.ts', packaged('kysely')],
    ['a package of its list', 'service/channels/rows/mails.ts', packaged('kysely', 'sql')],
    ['anything, for a test', 'test/unit/x.test.ts', file('workflows/run/rate.ts', 'pace')],
    [
      'a noun that another stands on',
      'service/tickets/rows/tickets.ts',
      file('service/sims/rows/sims.ts', 'simLabels'),
    ],
    ['the root of a floor', 'service/tickets/rows/tickets.ts', file('store/tenancy.ts', 'inTenant')],
    ['its own rows', 'service/alerts/page-of-alerts.ts', file('service/alerts/rows/alerts.ts', 'saveAlerts')],
    ['another adapter, for an entry point', 'worker/start-worker.ts', file('adapters/queues/backend.ts', 'connect')],
  ])('allows a file to import %s', (_, from, wanted) => {
    expect(whyNotImport(from, wanted)).toBeUndefined()
  })

  test.each([
    ['a folder above', 'domain/page.ts', file('store/paging.ts'), 'it does not import store/paging.ts'],
    [
      'a value where types are given',
      'service/channels/rows/mails.ts',
      file('adapters/channels/mail/render-mail.ts', 'renderMail'),
      'types only',
    ],
    ['another value than the named', 'service/tickets/x.ts', file('adapters/carrier/network.ts', 'send'), 'types only'],
    [
      'all of a file',
      'service/channels/rows/mails.ts',
      file('adapters/channels/mail/render-mail.ts', '*'),
      'types only',
    ],
    ['what decides, from rows', 'service/sims/rows/sims.ts', file('service/sims/tag-sim.ts', 'tagSim'), 'types only'],
    ['another adapter', 'adapters/temporal/client.ts', file('adapters/queues/backend.ts', 'x'), 'it does not import'],
    [
      'a door from another',
      'api/main.ts',
      file('worker/start-worker.ts', 'startWorker'),
      'it does not import worker/start-worker.ts',
    ],
    [
      'a package that is not of its list',
      'domain/page.ts',
      packaged('kysely', 'sql'),
      'of kysely it imports types only',
    ],
    [
      'a value, from a file of the bundle',
      'domain/time/cycle.ts',
      file('domain/codes.ts', 'labelOf'),
      'enters the bundle',
    ],
    [
      'a noun that stands on it',
      'service/sims/rows/sims.ts',
      file('service/tickets/rows/tickets.ts', 'x'),
      'only pools, tariffs, usage; it does',
    ],
    [
      'a noun, from the root of the store',
      'store/tenancy.ts',
      file('service/tickets/rows/tickets.ts'),
      'it imports no noun',
    ],
  ])('forbids a file to import %s', (_, from, wanted, why) => {
    expect(whyNotImport(from, wanted)).toContain(why)
  })

  test('treats `service/workflows/` as service, not as workflows', () => {
    expect(whyNotImport('api/main.ts', file('service/workflows/inputs.ts', 'inputs'))).toBeUndefined()
  })
})
