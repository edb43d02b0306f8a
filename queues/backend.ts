/** Where the queues live: in Redis where there is one, else in PostgreSQL. The only place that decides. */
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { dedupeId, type Job, type JobOf, QUEUE_NAMES, QUEUES, type QueueName } from '../domain/jobs.ts'
import { openPostgres } from './postgres.ts'

export interface QueuesAt {
  /** Empty: the queues live in PostgreSQL. */
  readonly redisUrl: string
  readonly databaseUrl: string
  /** Most connections to PostgreSQL of those who take jobs. Default: 10. */
  readonly queuePool?: number
  /** Told of connections that were lost; they are made again by themselves. */
  readonly onError: (error: Error) => void
}

export type Handlers = { readonly [Q in QueueName]: (job: JobOf<Q>) => Promise<void> }

/** Connections to PostgreSQL to enqueue with, and to take jobs with: a listening one for each queue, and some to work with. */
export const ENQUEUERS = 4
const CONSUMERS = 10

/** Longer than a job usually runs: an attempt at the carrier, or a mail. What is left then, a sweep finds again. */
const CLOSE_MS = 15_000
/** Longer than a queue that is there takes to close. */
const QUEUE_CLOSE_MS = 3000

/** Waits for something, but no longer than this: a backend that is away would be waited for without end. */
const atMost = (ms: number, what: Promise<unknown>) =>
  Promise.race([what, new Promise<void>((resolve) => setTimeout(resolve, ms).unref())])

/**
 * How soon the job of a worker that was killed is given to another, which until then keeps it from being
 * run. Milliseconds; a live worker renews its lock at half the time.
 */
const TAKEN_OVER = { lockDuration: 10_000, stalledInterval: 5000 } as const
/** How soon a consumer asks a backend again that refused it. Milliseconds. */
const ASK_AGAIN = { runRetryDelay: 1000 } as const

/** Done jobs are of no use to anybody; failed ones are kept a day for whoever looks. */
const KEEP = { removeOnComplete: true, removeOnFail: { age: 86_400, count: 1000 } } as const

/**
 * Enqueues jobs: one a piece of work, however often it is enqueued.
 *
 * @returns `enqueue` never throws: a job that is lost costs the time to the next sweep
 */
export function openQueues(at: QueuesAt) {
  const { queueOf, closeShared } = connectionTo(at, ENQUEUERS)
  const queues = new Map(QUEUE_NAMES.map((name) => [name, queueOf(name)]))
  for (const queue of queues.values()) queue.on('error', at.onError)
  const add = async (job: Job) => {
    await queues.get(job.queue)?.add(job.queue, job, {
      ...KEEP,
      deduplication: { id: dedupeId(job), keepLastIfActive: true },
    })
  }
  return {
    enqueue: (jobs: readonly Job[]) => {
      for (const job of jobs) add(job).catch(at.onError)
    },
    /** As `enqueue`, but says when all have been taken. */
    add: async (jobs: readonly Job[]) => {
      await Promise.all(jobs.map(add))
    },
    ping: async () => {
      await queues.get('mail')?.getJobCounts('wait')
    },
    /** Jobs waiting, running and failed, by queue. */
    counts: async () => {
      const all = await Promise.all(
        [...queues].map(async ([name, queue]) => [name, await queue.getJobCounts('wait', 'active', 'failed')] as const),
      )
      return Object.fromEntries(all)
    },
    close: async () => {
      await atMost(QUEUE_CLOSE_MS, Promise.all([...queues.values()].map((queue) => queue.close())))
      await closeShared()
    },
  }
}
export type Queues = ReturnType<typeof openQueues>

/**
 * Runs the jobs of all queues with these handlers.
 *
 * @returns `close` waits for running jobs to end, 15 s at the most
 */
export function consume(at: QueuesAt, handlers: Handlers, onFailed: (queue: string, error: Error) => void) {
  const { workerOf, closeShared } = connectionTo(at, at.queuePool ?? CONSUMERS)
  const workers = QUEUE_NAMES.map(<Q extends QueueName>(name: Q) => workerOf<Q>(name, handlers[name]))
  for (const worker of workers) {
    worker.on('error', at.onError)
    worker.on('failed', (_job, error) => onFailed(worker.name, error))
  }
  return {
    close: async () => {
      await atMost(CLOSE_MS, Promise.all(workers.map((worker) => worker.close())))
      await closeShared()
    },
  }
}

function connectionTo(at: QueuesAt, connections: number) {
  return at.redisUrl === '' ? inPostgres(at.databaseUrl, connections) : inRedis(at.redisUrl, at.onError)
}

function inPostgres(databaseUrl: string, connections: number) {
  const postgres = openPostgres(databaseUrl, connections)
  const { connection } = postgres
  return {
    queueOf: (name: QueueName) => new postgres.Queue<Job>(name, { connection }),
    workerOf: <Q extends QueueName>(name: Q, handle: (job: JobOf<Q>) => Promise<void>) =>
      new postgres.Worker<JobOf<Q>>(name, (job) => handle(job.data), {
        connection,
        concurrency: QUEUES[name].concurrency,
        ...TAKEN_OVER,
        ...ASK_AGAIN,
      }),
    closeShared: () => atMost(QUEUE_CLOSE_MS, postgres.close()),
  }
}

function inRedis(url: string, onError: (error: Error) => void) {
  // Workers block on Redis and must wait out its absence.
  const connection = new Redis(url, { maxRetriesPerRequest: null })
  connection.on('error', onError)
  return {
    queueOf: (name: QueueName) => new Queue<Job>(name, { connection }),
    workerOf: <Q extends QueueName>(name: Q, handle: (job: JobOf<Q>) => Promise<void>) =>
      new Worker<JobOf<Q>>(name, (job) => handle(job.data), {
        connection,
        concurrency: QUEUES[name].concurrency,
        ...TAKEN_OVER,
        ...ASK_AGAIN,
      }),
    closeShared: async () => {
      await atMost(
        QUEUE_CLOSE_MS,
        connection.quit().catch(() => undefined),
      )
      connection.disconnect()
    },
  }
}
