/** 5,000 alerts in five waves; while one is decided and mails of the one before leave, something is killed. */
import { ownServers } from '../../setup/own-servers.ts'
import { startService } from '../../setup/service.ts'
import { until } from '../../setup/soon.ts'
import { killSupervised } from '../harness.ts'
import { openSources } from '../witnesses.ts'
import { startMailServer } from './mail-server.ts'
import { MANNERS, raiseTenants, STORM_RULES, type StormTenant, sendWave, WAVES } from './tenants.ts'
import { passAddressHour, passEvaluationLeases, passMailLeases, passThreeDays, passWaits } from './time.ts'

const SETTINGS = {
  MAIL_GROUP_FIRST: 'PT1S',
  MAIL_GROUP_NEXT: 'PT2S',
  MAIL_RETRY_MAX: 'PT2S',
  OPERATOR_EMAIL: 'noc.0@meadow.example',
} as const

/** Longer than connections, sweeps and queues wait before they try again. */
const AWAY_MS = 3000
/** Slow enough for a kill to meet mails between their last line and the answer. */
const ANSWER_MS = 150
/** Manners that do not end. */
const FOR_EVER = ['451-always', '5.1.1']
const FOR_A_WHILE = Object.keys(MANNERS).filter((manner) => !FOR_EVER.includes(manner))
/** Stalls begin when neither worker nor mail server is killed for a while: they last until the sender gives up, a minute. */
const STALLS = ['stalls', 'stalls-after']
const LONG_SECONDS = 180

export async function openStorm(options: { readonly withRedis: boolean }) {
  const servers = await ownServers(options)
  const bad = [...FOR_EVER, ...FOR_A_WHILE].filter((manner) => !STALLS.includes(manner))
  const post = await startMailServer({ login: false, answerMs: ANSWER_MS, bad })
  const service = await startService({ ...SETTINGS, SMTP_URL: post.smtpUrl }, servers)
  const sources = openSources(servers)
  await service.call('POST', '/internal/rules', '', { files: STORM_RULES, author: 'the tests' })
  return {
    ...options,
    servers,
    post,
    service,
    sources,
    close: async () => {
      await sources.close()
      await service.stop()
      await post.stop()
    },
  }
}
export type Storm = Awaited<ReturnType<typeof openStorm>>

/** What was killed, and what was under way then. Instants are epoch milliseconds. */
export interface Strike {
  readonly killed: 'worker' | 'PostgreSQL' | 'Redis' | 'API' | 'mail server'
  readonly at: number
  readonly backAt: number
  /** Of the wave's alerts, how many had been logged. */
  readonly logged: number
  /** Mails that the server had kept since the strike before, and those that were waiting or being sent. */
  readonly kept: number
  readonly pending: number
}

export interface Played {
  readonly tenants: readonly StormTenant[]
  readonly strikes: readonly Strike[]
  /** Requests with usage that failed and were sent again. */
  readonly sentAgain: number
  readonly seconds: number
}

export async function playStorm(storm: Storm): Promise<Played> {
  const { service, servers, post, sources } = storm
  const tenants = await raiseTenants(service)
  const began = performance.now()
  const strikes: Strike[] = []
  let sentAgain = 0

  const count = async (statement: string): Promise<number> => {
    const [row] = await sources.rows<{ n: number }>(`select count(*)::integer as n ${statement}`, [])
    return row?.n ?? 0
  }
  const logged = () => count("from watchdog_log where dedupe_key like '%/fired'")
  const pending = () => count("from mails where status = 'pending'")
  const sizeUpTo = (wave: number) => tenants.flatMap(({ sims }) => sims).filter((sim) => sim.wave <= wave).length

  /** Kills something, and lets the leases pass of what it was doing. */
  const strike = async (killed: Strike['killed'], seen: Pick<Strike, 'logged' | 'kept' | 'pending'>) => {
    const at = Date.now()
    switch (killed) {
      case 'worker':
        await killSupervised(service.worker)
        await passMailLeases(sources.rows, new Date(at))
        break
      case 'API':
        await killSupervised(service.api)
        break
      case 'PostgreSQL':
        await servers.postgres.outage(AWAY_MS)
        break
      case 'Redis':
        await servers.redis.outage(AWAY_MS)
        break
      case 'mail server':
        await post.outage(AWAY_MS)
        break
    }
    strikes.push({ killed, at, backAt: Date.now(), ...seen })
    await until('the passing of leases', async () => (await passEvaluationLeases(sources.rows, new Date(at)), true))
  }

  /** A wave is decided while mails of the one before leave; in the middle of both something is killed. */
  const round = async (wave: number, killed: Strike['killed']) => {
    const before = sizeUpTo(wave - 1)
    const size = sizeUpTo(wave) - before
    const keptBefore = await post.kept()
    await passWaits(sources.rows)
    const sending = sendWave(service, tenants, wave)
    // Its failure is thrown below.
    sending.catch(() => undefined)
    const middle = await until(
      `the middle of wave ${wave}`,
      async () => {
        const seen = {
          logged: (await logged()) - before,
          kept: (await post.kept()) - keptBefore,
          pending: await pending(),
        }
        return seen.logged >= size / 5 && seen.kept >= 5 && seen
      },
      LONG_SECONDS,
    )
    await strike(killed, middle)
    sentAgain += await sending
    await until(`all alerts of wave ${wave} logged`, async () => (await logged()) >= before + size, LONG_SECONDS)
  }

  // The first wave meets a server that refuses the login.
  sentAgain += await sendWave(service, tenants, 0)
  await until('all alerts of wave 0 logged', async () => (await logged()) >= sizeUpTo(0), LONG_SECONDS)
  await passWaits(sources.rows)
  const refusals = async () => (await post.answers()).filter(({ answer }) => answer === '535').length
  await until('refused logins', async () => (await refusals()) >= tenants.length, LONG_SECONDS)
  await post.turn({ login: true })

  await round(1, 'worker')
  await round(2, 'mail server')
  await post.turn({ bad: [...FOR_EVER, ...FOR_A_WHILE] })
  await round(3, 'PostgreSQL')
  await round(WAVES - 1, storm.withRedis ? 'Redis' : 'API')

  const left = async () => (await post.answers()).filter(({ answer }) => answer.endsWith(', left')).length
  await until('the end of the sender’s patience', async () => (await left()) >= STALLS.length, LONG_SECONDS)
  // All that is mended now leaves together, and the worker is killed once more.
  const keptBefore = await post.kept()
  await passWaits(sources.rows)
  await post.turn({ bad: FOR_EVER })
  const middle = await until(
    'mended mails on their way',
    async () => {
      const seen = { logged: 0, kept: (await post.kept()) - keptBefore, pending: await pending() }
      return seen.kept >= 5 && seen
    },
    LONG_SECONDS,
  )
  await strike('worker', middle)

  const givenUp = tenants.filter(({ manner }) => FOR_EVER.includes(manner)).map(({ id }) => id)
  const waiting = `from mails where status = 'pending' and not tenant_id = any('{${givenUp.join(',')}}')`
  const noWaiting = async () => {
    await passWaits(sources.rows)
    return (await count('from notifications where mail_id is null')) + (await count(waiting)) === 0
  }
  await until('all other mails sent', noWaiting, LONG_SECONDS)
  await until(
    'all mails sent or given up',
    async () => {
      await passAddressHour(sources.rows)
      await passThreeDays(sources.rows, givenUp)
      return (await pending()) === 0
    },
    LONG_SECONDS,
  )
  return { tenants, strikes, sentAgain, seconds: Math.round((performance.now() - began) / 1000) }
}
