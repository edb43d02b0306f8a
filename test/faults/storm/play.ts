/** 5,000 alerts in five waves; while one is decided and mails of the one before leave, something is killed. */
import { until } from '../../setup/soon.ts'
import type { Storm } from './storm.ts'
import { countsOf, type Killed, type Strike, strike } from './strike.ts'
import { alertsOf, raiseTenants, type StormSize, type StormTenant, sendWave } from './tenants.ts'
import { passAddressHour, passThreeDays, passWaits } from './time.ts'

const REFUSED = { '421': 2, '451': 2, '451-always': 2, '5.1.1': 2, '5.7.1': 2 }
const BROKEN_OFF = { drops: 2, keeps: 2, stalls: 1, 'stalls-after': 1 }
/** So many SIMs in tenant 0 that its mails have more alerts than their tables show. */
const SIZE: StormSize = { waves: 5, large: 1100, small: 100, others: 39, manners: { ...REFUSED, ...BROKEN_OFF } }

/** Manners that do not end. */
export const FOR_EVER = ['451-always', '5.1.1']
const FOR_A_WHILE = Object.keys(SIZE.manners).filter((manner) => !FOR_EVER.includes(manner))
/** Stalls begin when neither worker nor mail server is killed for a while: they last until the sender gives up, a minute. */
const STALLS = ['stalls', 'stalls-after']
/** The mail server begins by refusing the login. */
export const FIRST_MANNERS = {
  login: false,
  bad: [...FOR_EVER, ...FOR_A_WHILE].filter((manner) => !STALLS.includes(manner)),
}
export const LONG_SECONDS = 180

export interface Played {
  readonly tenants: readonly StormTenant[]
  readonly strikes: readonly Strike[]
  /** Requests with usage that failed and were sent again. */
  readonly sentAgain: number
  readonly seconds: number
}

export async function playStorm(storm: Storm): Promise<Played> {
  const { service, post, sources } = storm
  const tenants = await raiseTenants(service, SIZE)
  const began = performance.now()
  const strikes: Strike[] = []
  let sentAgain = 0
  const { logged, pending, kept } = countsOf(storm, tenants)

  /** A wave is decided while mails of the one before leave; in the middle of both something is killed. */
  const round = async (wave: number, killed: Killed) => {
    const before = await logged()
    const alerts = alertsOf(tenants, wave)
    const keptBefore = await kept()
    await passWaits(sources.rows)
    const sending = sendWave(service, tenants, wave)
    // Its failure is thrown below.
    sending.catch(() => undefined)
    const middle = await until(
      `the middle of wave ${wave}`,
      async () => {
        const seen = {
          logged: (await logged()) - before,
          alerts,
          kept: (await kept()) - keptBefore,
          pending: await pending(),
        }
        return seen.logged >= alerts / 5 && seen.kept >= 5 && seen
      },
      LONG_SECONDS,
    )
    strikes.push(await strike(storm, killed, middle))
    sentAgain += await sending
    await until(`all alerts of wave ${wave} logged`, async () => (await logged()) >= before + alerts, LONG_SECONDS)
  }

  // The first wave meets a server that refuses the login.
  sentAgain += await sendWave(service, tenants, 0)
  await until('all alerts of wave 0 logged', async () => (await logged()) >= alertsOf(tenants, 0), LONG_SECONDS)
  await passWaits(sources.rows)
  const refusals = async () => (await post.answers()).filter(({ answer }) => answer === '535').length
  await until('refused logins', async () => (await refusals()) >= tenants.length, LONG_SECONDS)
  await post.turn({ login: true })

  await round(1, 'worker')
  await round(2, 'mail server')
  await post.turn({ bad: [...FOR_EVER, ...FOR_A_WHILE] })
  await round(3, 'PostgreSQL')
  await round(4, storm.withRedis ? 'Redis' : 'API')

  const left = async () => (await post.answers()).filter(({ answer }) => answer.endsWith(', left')).length
  await until('the end of the sender’s patience', async () => (await left()) >= STALLS.length, LONG_SECONDS)
  // All that is mended now leaves together, and the worker is killed once more.
  const keptBefore = await kept()
  await passWaits(sources.rows)
  await post.turn({ bad: FOR_EVER })
  const middle = await until(
    'mended mails on their way',
    async () => {
      const seen = { logged: 0, alerts: 0, kept: (await kept()) - keptBefore, pending: await pending() }
      return seen.kept >= 5 && seen
    },
    LONG_SECONDS,
  )
  strikes.push(await strike(storm, 'worker', middle))
  await allMailsEnd(storm, tenants)
  return { tenants, strikes, sentAgain, seconds: Math.round((performance.now() - began) / 1000) }
}

/** Waits until all mails are sent, and those given up whose tenants' manner does not end. */
export async function allMailsEnd(storm: Storm, tenants: readonly StormTenant[]): Promise<void> {
  const { rows } = storm.sources
  const { unmailed, pending } = countsOf(storm, tenants)
  const idsOf = (isForEver: boolean) =>
    tenants.filter(({ manner }) => FOR_EVER.includes(manner) === isForEver).map(({ id }) => id)
  await until(
    'all other mails sent',
    async () => {
      await passWaits(rows)
      return (await unmailed()) + (await pending(idsOf(false))) === 0
    },
    LONG_SECONDS,
  )
  await until(
    'all mails sent or given up',
    async () => {
      await passAddressHour(rows)
      await passThreeDays(rows, idsOf(true))
      return (await pending()) === 0
    },
    LONG_SECONDS,
  )
}
