/**
 * 5,000 alerts while worker, PostgreSQL, Redis and the mail server are killed in turn, and the mail server refuses the
 * login, answers 421, 451, 550 5.1.1 and 550 5.7.1, breaks off in DATA, keeps mails without an answer, and stalls.
 *
 * Afterwards each alert is logged once and in one mail; each mail was accepted, or is shown as given up with its reason;
 * a mail came twice only where the sender could not know that it had been accepted; and nothing waits unseen.
 *
 * Where the queues are in PostgreSQL, the API is killed in the place of Redis.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { requireRedis } from '../setup/requirements.ts'
import { soon } from '../setup/soon.ts'
import { reportOnStorm, stormTable, strikesTable } from './storm/outcome.ts'
import { FIRST_MANNERS, playStorm } from './storm/play.ts'
import { openStorm, type Storm } from './storm/storm.ts'

const hasRedis = requireRedis('a storm of alerts, with the queues in Redis') !== undefined
const BACKENDS = [
  { backend: 'PostgreSQL', withRedis: false },
  { backend: 'Redis', withRedis: true },
]
/** What the mail server must have answered: without it the storm proves nothing. */
const ANSWERS = [
  '250',
  '421',
  '451',
  '535',
  '550 5.1.1',
  '550 5.7.1',
  'dropped in DATA',
  'kept, dropped',
  'stalled, left',
  'kept, stalled, left',
]
const WORDS = '5.1.1'

describe.each(BACKENDS)('a storm of alerts, with the queues in $backend', ({ backend, withRedis }) => {
  let storm: Storm | undefined
  afterAll(() => storm?.close())

  test.skipIf(withRedis && !hasRedis)(
    'tells of each alert once, whatever is killed',
    { timeout: 900_000 },
    async () => {
      storm = await openStorm({ withRedis, manners: FIRST_MANNERS })
      const { service, post, sources } = storm

      const played = await playStorm(storm)

      // The work list is settled, and the operator told, a moment after the last mail.
      let report = await reportOnStorm(storm, played)
      for (let looks = 1; report.faults.length > 0 && looks < 10; looks++) report = await reportOnStorm(storm, played)
      console.log(`\nQueues in ${backend}, ${played.seconds} s`)
      console.log(`\n${strikesTable(played.strikes)}\n\n${stormTable(played, report)}\n`)
      expect(report.faults).toEqual([])
      expect(ANSWERS.filter((answer) => !report.answers.has(answer))).toEqual([])
      for (const { killed, logged, alerts, pending } of played.strikes.slice(0, -1)) {
        expect(logged, `alerts before ${killed} was killed`).toBeLessThan(alerts)
        expect(pending, `mails when ${killed} was killed`).toBeGreaterThan(0)
      }

      // A mail that was given up for its address leaves as soon as there is another.
      const [refused] = played.tenants.filter(({ manner }) => manner === WORDS)
      const kept = await post.kept()
      const mended = { billingEmail: 'well.99@meadow.example' }
      await service.tenantCall('PATCH', '/api/tenant/billing-email', refused?.id ?? '', mended)
      await soon(async () => {
        const left = await sources.rows(
          "select mail_id as id from deliveries where mail_id is not null and tenant_id = $1 and status <> 'sent'",
          [refused?.id],
        )
        expect(left).toEqual([])
      })
      expect(await post.kept()).toBeGreaterThan(kept)
    },
  )
})
