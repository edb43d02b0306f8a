/**
 * 100 lifecycles and 500 alerts in five parts, over which six processes are killed, each once. Every kill meets both: calls
 * that the carrier holds, alerts that are being decided, and mails on their way.
 *
 * The API is killed while Redis is away. So the jobs for tickets that a tenant opens meanwhile are lost, and nothing later
 * comes for that tenant: only a sweep finds them. One mail is still being sent when Redis is back without the job for it:
 * another job finds it, and must leave it alone.
 */
import { hasAll } from '../../../cli/start/answers.ts'
import { until } from '../../setup/soon.ts'
import { type Herd, moveUsage, partOf, raiseHerd, type Sizes, startFleet, takeBack } from '../herd.ts'
import { untilDone } from '../outcome.ts'
import { allMailsEnd, FOR_EVER, LONG_SECONDS, type Played } from './play.ts'
import { KEPT_LATE } from './post-folder.ts'
import type { Storm } from './storm.ts'
import { type Killed, type Strike, strike } from './strike.ts'
import { alertsOf, raiseTenants, type StormSize, sendWave } from './tenants.ts'
import { passWaits } from './time.ts'

/** One a part. A mail that PostgreSQL's end leaves is free once the worker is killed after it. */
const KILLED: readonly Killed[] = ['carrier', 'PostgreSQL', 'worker', 'Temporal', 'Redis']
const PARTS = KILLED.length
/** The lifecycles, in two tenants: the tickets of the second are opened while Redis is away. */
const NONE: Sizes = { fleet: 0, late: 0, grace: 0, cleared: 0, taken: 0 }
const HERD: Sizes = { ...NONE, fleet: 75, late: 7, grace: 6, cleared: 6 }
const QUIET_HERD: Sizes = { ...NONE, taken: 6 }
/** No manner that takes a minute. */
const SIZE: StormSize = {
  waves: PARTS,
  large: 100,
  small: 25,
  others: 16,
  manners: { '421': 1, '451': 1, '451-always': 1, '5.1.1': 1, '5.7.1': 1, drops: 1, keeps: 1, late: 1 },
}
const BAD = Object.keys(SIZE.manners)
/** How the mail server begins. It is late while Redis is away. */
export const MANNERS = { login: true, bad: BAD.filter((manner) => manner !== 'late') }
/** Of the calls of a part some are answered at once, and some are held when the kill comes. Milliseconds. */
const HOLDS: [number, number] = [0, 6000]
const WORKS: [number, number] = [0, 300]
/** Counted moments of a part: so many calls have had their effect, and so many mails were accepted. */
const [EFFECTS, ACCEPTED] = [4, 3]
/**
 * Tenants whose usage is sent first, by manner: some mails are accepted, and some wait. That of half of the others is
 * sent one by one before the kill, and that of the rest meets it.
 */
const FIRST = { well: 4, '451': 1, late: 1 }

/** What a kill met of the lifecycles. */
export interface Met extends Strike {
  /** Open tickets. */
  readonly open: number
  /** Effects at the carrier since the strike before. */
  readonly effects: number
}
interface PlayedMixed extends Played {
  readonly strikes: readonly Met[]
  readonly herds: readonly Herd[]
}

export async function playMixedStorm(storm: Storm): Promise<PlayedMixed> {
  const { service, servers, post, sources } = storm
  const began = performance.now()
  const [herd, quiet, tenants] = await Promise.all([
    raiseHerd(service, sources, HERD),
    raiseHerd(service, sources, QUIET_HERD),
    raiseTenants(service, SIZE),
  ])
  const herds = [herd, quiet]
  const ids = tenants.map(({ id }) => id)
  /** Their mails are on their way when the others' alerts are decided. */
  const first = Object.entries(FIRST).flatMap(([manner, n]) =>
    tenants.filter((tenant) => tenant.manner === manner).slice(0, n),
  )
  const others = tenants.filter((tenant) => !first.includes(tenant))
  const half = Math.floor(others.length / 2)
  const strikes: Met[] = []
  let sentAgain = 0

  /** In one statement, so that no time passes between it and the kill. */
  const look = async () => {
    const [seen] = await sources.rows<{ logged: number; pending: number; open: number }>(
      `select (select count(*)::integer from watchdog_log
                where tenant_id = any($1) and dedupe_key like '%/fired') as logged,
              (select count(*)::integer from deliveries
                where mail_id is not null and tenant_id = any($1) and status = 'pending') as pending,
              (select count(*)::integer from tickets where tenant_id = any($2) and status in (0, 1)) as open`,
      [ids, herds.map(({ tenantId }) => tenantId)],
    )
    return seen ?? { logged: 0, pending: 0, open: 0 }
  }
  const iccids = new Set(herd.sims.map(({ iccid }) => iccid))
  const effects = async () => (await herd.witnesses.carrier(iccids)).filter(({ outcome }) => outcome === 'done').length
  const reaches = (what: string, count: () => Promise<number>, least: number) =>
    until(what, async () => (await count()) >= least, LONG_SECONDS)

  const lateMails = async () => (await post.answers()).filter(({ answer }) => answer === KEPT_LATE).length

  const round = async (n: number, killed: Killed) => {
    const alerts = alertsOf(tenants, n)
    const before = { logged: (await look()).logged, effects: await effects(), kept: await post.kept() }
    const seenNow = async () => {
      const now = await look()
      const logged = now.logged - before.logged
      const [done, kept] = [(await effects()) - before.effects, (await post.kept()) - before.kept]
      return { ...now, logged, alerts, effects: done, kept }
    }
    await until('a ready API', () => hasAll(`${service.internalUrl}/readyz`))
    const part = partOf(herd, n, PARTS)
    await startFleet(service, partOf(part, 0, 2))
    await moveUsage(service, part)
    if (killed === 'Redis') await post.turn({ bad: BAD })
    await passWaits(sources.rows)
    sentAgain += await sendWave(service, first, n)
    await reaches(`effects of part ${n}`, effects, before.effects + EFFECTS)
    await reaches(`mails of part ${n}`, post.kept, before.kept + ACCEPTED)
    if (killed === 'Redis') await reaches('a mail that is answered late', lateMails, 1)
    // Begun here, so that the kill meets open tickets however long the mails took.
    await startFleet(service, partOf(part, 1, 2))
    const send = (some: typeof others) => {
      const sending = sendWave(service, some, n, 1)
      // Its failure is thrown below.
      sending.catch(() => undefined)
      return sending
    }
    const sending = [send(others.slice(0, half))]
    const middle = await until(
      `the middle of part ${n}`,
      async () => {
        const { logged, pending, open } = await look()
        return logged - before.logged > alertsOf(first, n) && pending > 0 && open > 0 && seenNow()
      },
      LONG_SECONDS,
    )
    sending.push(send(others.slice(half)))
    const whileRedisIsAway = async () => {
      await takeBack(service, quiet)
      strikes.push(await strike(storm, 'API', await seenNow()))
    }
    strikes.push(await strike(storm, killed, middle, killed === 'Redis' ? whileRedisIsAway : undefined))
    for (const again of await Promise.all(sending)) sentAgain += again
    await reaches(`all alerts of part ${n} logged`, async () => (await look()).logged, before.logged + alerts)
  }

  await servers.carrier.turn({ latencyMs: HOLDS })
  for (const [n, killed] of KILLED.entries()) await round(n, killed)
  await servers.carrier.turn({ latencyMs: WORKS })
  await post.turn({ bad: FOR_EVER })

  await allMailsEnd(storm, tenants)
  for (const one of herds) await untilDone(one, LONG_SECONDS, () => passWaits(sources.rows))
  return { herds, tenants, strikes, sentAgain, seconds: Math.round((performance.now() - began) / 1000) }
}
