/**
 * A process that does the jobs of webhooks and finds those that were lost, as a worker does. A test kills it.
 *
 *   node test/adapters/webhook-worker.ts '{"redisUrl": "", "databaseUrl": "postgres://…", "clockAheadMs": 0}'
 */
import { pino } from 'pino'
import { endpointChannels } from '../../adapters/channels/index.ts'
import { consume, openQueues } from '../../adapters/queues/backend.ts'
import { parseNetworks } from '../../domain/networks.ts'
import { startSweeps } from '../../process/start-sweeps.ts'
import { sendWebhooks } from '../../service/channels/send-webhooks.ts'
import { connect } from '../../store/connect.ts'
import type { Store } from '../../store/tenancy.ts'
import { workLists } from '../../worker/work-lists.ts'

const { redisUrl, databaseUrl, clockAheadMs } = JSON.parse(process.argv[2] ?? '{}')
const at = { redisUrl, databaseUrl, onError: () => undefined }
const queues = openQueues(at)
const { db } = connect(databaseUrl, { max: 5 })
const store: Store = { db, clock: () => Date.now() + clockAheadMs, enqueue: queues.enqueue }
const channels = endpointChannels({ clock: store.clock, timeoutMs: 30_000, allow: parseNetworks('127.0.0.1/32') ?? [] })
const nothing = async () => undefined

consume(
  at,
  {
    tickets: nothing,
    bulk: nothing,
    evaluate: nothing,
    sweep: nothing,
    mail: nothing,
    workflows: nothing,
    webhooks: async (job) => void (await sendWebhooks(store, channels, { secretsKeys: [] }, job)),
  },
  () => undefined,
)
const lists = workLists({ store, webhookLogMs: 1e9, onMonthsAhead: () => undefined })
startSweeps(
  lists.filter(({ name }) => name === 'webhooks'),
  500,
  pino({ enabled: false }),
)
