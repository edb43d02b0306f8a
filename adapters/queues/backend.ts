/** Chooses where the queues live: in Redis if there is one, else in PostgreSQL. The only place that decides this. */
import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { dedupeId, type Job, type JobOf, QUEUE_NAMES, QUEUES, type QueueName } from '../../domain/jobs.ts'
import { openPostgres } from './open-postgres.ts'

export interface QueuesAt {
  /** Empty: the queues live in PostgreSQL. */
  readonly redisUrl: string
  readonly databaseUrl: string
  /** Most connections to PostgreSQL for taking jobs. Default: 11. */
  readonly queuePool?: number
  /** Longest wait for an answer, in milliseconds: a connection that is silent for longer is replaced. Default: 20 s. */
  readonly answerMs?: number
  /** Called when a connection is lost. It is made again by itself. */
  readonly onError: (error: Error) => void
}

export type Handlers = { readonly [Q in QueueName]: (job: JobOf<Q>) => Promise<void> }

/**
 * Most connections to PostgreSQL for enqueuing, and the default for taking jobs. Those are one listening connection a
 * queue, and some to work with.
 */
export const ENQUEUERS = 4
const CONSUMERS = 11

/**
 * Longest wait for running jobs at the end, in milliseconds. Longer than a job usually runs, which is an attempt at the
 * carrier or a mail. A sweep finds what is left.
 */
const CLOSE_MS = 15_000
/** Longest wait for a queue to close, in milliseconds. Longer than a reachable queue takes. */
const QUEUE_CLOSE_MS = 3000

/** Waits for something, but no longer than `ms`: without that, an unreachable backend would be waited for for ever. */
const atMost = (ms: number, what: Promise<unknown>) =>
  Promise.race([what, new Promise<void>((resolve) => setTimeout(resolve, ms).unref())])

/**
 * How soon the job of a killed worker goes to another worker, in milliseconds. Until then the job cannot run. A live
 * worker renews its lock at half the time.
 */
const TAKEN_OVER = { lockDuration: 10_000, stalledInterval: 5000 } as const
/** How soon a consumer tries a backend again that refused it. Milliseconds. */
const ASK_AGAIN = { runRetryDelay: 1000 } as const
const workerOptions = (name: QueueName) => ({ concurrency: QUEUES[name].concurrency, ...TAKEN_OVER, ...ASK_AGAIN })

/** Longer than a consumer blocks on Redis, which is 10 s at most, and than any statement of BullMQ usually takes. */
const ANSWER_MS = 20_000

/** Completed jobs are removed. Failed ones are kept for investigation: for a day, at most 1,000. */
const KEEP = { removeOnComplete: true, removeOnFail: { age: 86_400, count: 1000 } } as const

/** Enqueues jobs: one for a piece of work. `enqueue` never throws, as the next sweep finds what a lost job was for. */
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
    /** Like `enqueue`, but resolves when all jobs are in the queue. Rejects if one could not be enqueued. */
    add: async (jobs: readonly Job[]) => {
      await Promise.all(jobs.map(add))
    },
    ping: async () => {
      await queues.get('mail')?.getJobCounts('wait')
    },
    /** Numbers of jobs that wait, run and have failed, by queue. */
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

/** Runs the jobs of all queues with these handlers. @returns `close` waits for running jobs to end, 15 s at the most */
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
  const { answerMs = ANSWER_MS } = at
  return at.redisUrl === ''
    ? inPostgres(at.databaseUrl, connections, answerMs)
    : inRedis(at.redisUrl, answerMs, at.onError)
}

function inPostgres(databaseUrl: string, connections: number, answerMs: number) {
  const postgres = openPostgres(databaseUrl, connections, answerMs)
  const { connection } = postgres
  return {
    queueOf: (name: QueueName) => new postgres.Queue<Job>(name, { connection }),
    workerOf: <Q extends QueueName>(name: Q, handle: (job: JobOf<Q>) => Promise<void>) =>
      new postgres.Worker<JobOf<Q>>(name, (job) => handle(job.data), { connection, ...workerOptions(name) }),
    closeShared: () => atMost(QUEUE_CLOSE_MS, postgres.close()),
  }
}

function inRedis(url: string, answerMs: number, onError: (error: Error) => void) {
  // Workers block on Redis, and must wait for it while it is away.
  const connection = new Redis(url, { maxRetriesPerRequest: null, socketTimeout: answerMs })
  connection.on('error', onError)
  return {
    queueOf: (name: QueueName) => new Queue<Job>(name, { connection }),
    workerOf: <Q extends QueueName>(name: Q, handle: (job: JobOf<Q>) => Promise<void>) =>
      new Worker<JobOf<Q>>(name, (job) => handle(job.data), { connection, ...workerOptions(name) }),
    closeShared: async () => {
      await atMost(
        QUEUE_CLOSE_MS,
        connection.quit().catch(() => undefined),
      )
      connection.disconnect()
    },
  }
}
