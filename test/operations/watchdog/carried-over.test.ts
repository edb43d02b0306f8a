/**
 * A database of the release before alerts knew what was told where is migrated: with alerts that fire, wait, were shadowed,
 * and that nobody ended. That release noted as told whatever fired, also where its rule might tell nothing.
 */
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sendMails } from '../../../operations/mail/send-mails.ts'
import { activateRules } from '../../../operations/watchdog/rules-in-force.ts'
import type { AlertState } from '../../../rules/alerts/state.ts'
import { connect } from '../../../store/connect.ts'
import { migrate } from '../../../store/migrate.ts'
import { readMigrationFiles } from '../../../store/migration-files.ts'
import { inTenant } from '../../../store/tenancy.ts'
import type { TestStore } from '../../setup/estate.ts'
import { ownDatabase } from '../../setup/login.ts'
import { evaluationOptions, watch } from '../harness.ts'
import { asShipped, inStage, only } from './alert-world.ts'

/** The last migration of that release. */
const LAST = '0053_sim_blocks'
const TENANT = 'meadow'
const NOW = Date.parse('2026-11-20T12:00:00Z')
const [HOUR, MB] = [3_600_000, 1_000_000]
const CYCLE = '2026-11'

const ending = (stage: string) => (rule: { event: { params: Record<string, unknown> } }) =>
  Object.assign(rule.event.params, { resolve: 'email', stage })
const when = (pct: number) => ({
  conditions: { all: [{ fact: 'usagePct', operator: 'greaterThanInclusive', value: pct }] },
  examples: [
    { fires: true, facts: { usagePct: pct } },
    { fires: false, facts: { usagePct: pct - 1 } },
  ],
})
const text = {
  message: 'SIM {{iccid}} is at {{usagePct}}.',
  resolvedMessage: 'SIM {{iccid}} is at {{usagePct}} again.',
}

/** `sim-burn-rate` is shadowed; `sim-never-seen` waits for two hours; `sim-silent` was once told for each episode. */
const rulesWith = (shadowed: string) =>
  only({
    'sim-overage': asShipped,
    'sim-usage-warning': ending('notify'),
    'pool-usage-warning': asShipped,
    'sim-burn-rate': (rule) => {
      Object.assign(rule, when(50))
      Object.assign(rule.event.params, text, { level: 'Critical', resolve: 'log' })
      inStage(shadowed)(rule)
    },
    'sim-never-seen': (rule) => {
      Object.assign(rule, when(60))
      Object.assign(rule.event.params, text, { for: 'PT2H', once: 'cycle', clear: undefined })
    },
    'sim-silent': (rule) => {
      Object.assign(rule, when(20))
      Object.assign(rule.event.params, text, { for: 'PT0S', once: 'cycle', clear: undefined })
    },
  })

/** What each SIM has used, in MB of 100. */
const SIMS = {
  over: 101,
  mailed: 85,
  logged: 86,
  shadowed: 55,
  pending: 65,
  endedMailed: 5,
  endedLogged: 6,
  endedShadowed: 7,
  waiting: 87,
  unassigned: 88,
  ruleGone: 10,
  twoScopes: 25,
  closed: 11,
} as const
type Name = keyof typeof SIMS
const NAMES = Object.keys(SIMS) as Name[]
const idOf = (name: Name) => NAMES.indexOf(name) + 1

const BEGAN = '2026-11-01T12:00:00Z'
const ESTATE = [
  `insert into tenants (id, name, billing_email, billing_cycle, created_at, updated_at)
   values ('${TENANT}', 'Meadow', 'billing@meadow.example', 'P1M', '${BEGAN}', '${BEGAN}')`,
  `insert into tariffs (tenant_id, display_name, description, type, allowance_bytes, sim_monthly_fee, fixed_bucket_cost,
                        sms_fee, voice_fee, overage_fee_per_gb, created_at)
   values ('${TENANT}', 'tariff', '', 0, ${100 * MB}, 0, 0, 0, 0, 0, '${BEGAN}')`,
  `insert into pools (name, type, tariff_id, watchdog_mode, warning_threshold_pct, created_at, updated_at, activated_at, deleted_at)
   values ('meters', 0, 1, 2, 80, '${BEGAN}', '${BEGAN}', '${BEGAN}', null), ('deleted', 0, 1, 2, 80, '${BEGAN}', '${BEGAN}', '${BEGAN}', '${BEGAN}')`,
  `insert into sims (iccid, type, status, status_since, pool_id, provisioned_at, created_at, updated_at)
   select (8944500000000000000 + n)::text, 0, case when n = ${idOf('unassigned')} then 0 else 1 end, '${BEGAN}',
          case when n = ${idOf('unassigned')} then null else 1 end, '${BEGAN}', '${BEGAN}', '${BEGAN}'
     from generate_series(1, ${NAMES.length}) as s(n) order by n`,
  `insert into memberships (sim_id, pool_id, from_at, to_at)
   select id, 1, '${BEGAN}', case when pool_id is null then timestamptz '${BEGAN}' + interval '1 hour' end from sims order by id`,
  `insert into active_spans (sim_id, from_at) select id, '${BEGAN}' from sims where status = 1 order by id`,
  `insert into cycles (key, starts_at, ends_at, opened_at, settled_at, closed_at)
   values ('2026-10', '2026-10-01Z', '2026-11-01Z', '2026-10-01Z', '2026-11-01 07:00Z', '2026-11-01 07:00Z'),
          ('${CYCLE}', '2026-11-01Z', '2026-12-01Z', '2026-11-01Z', null, null)`,
  `insert into usage_ledger (cycle_key, sim_id, pool_id, contributing, bytes) values
   ${NAMES.map((name) => `('${CYCLE}', ${idOf(name)}, 1, true, ${SIMS[name] * MB})`).join()}`,
  `insert into pool_cycles (cycle_key, pool_id, bytes, contributing)
   select cycle_key, pool_id, sum(bytes), count(*) from usage_ledger group by 1, 2`,
  // Usage came half an hour ago.
  `insert into usage_buckets (subject_kind, subject_id, starts_at, bytes)
   values (3, 0, timestamptz '${new Date(NOW).toISOString()}' - interval '30 minutes', 1)`,
]

interface Row {
  readonly rule: string
  readonly kind?: 1 | 2
  readonly id: number
  readonly scope?: string
  readonly phase: 'pending' | 'firing' | 'resolved'
  readonly asked?: string
  /** Where it was told that it fires: in the log, and in a mail that was sent, or waits to be made. */
  readonly told?: 'log' | 'mail' | 'waits'
}
const WARNING = 'sim-usage-warning'
const ROWS: readonly Row[] = [
  { rule: 'sim-overage', id: idOf('over'), phase: 'firing', asked: 'overLimit', told: 'mail' },
  { rule: WARNING, id: idOf('over'), phase: 'firing', told: 'mail' },
  { rule: WARNING, id: idOf('mailed'), phase: 'firing', told: 'mail' },
  // Its rule was in stage log, and is in notify since.
  { rule: WARNING, id: idOf('logged'), phase: 'firing', told: 'log' },
  { rule: 'sim-burn-rate', id: idOf('shadowed'), phase: 'firing' },
  { rule: 'sim-never-seen', id: idOf('pending'), phase: 'pending' },
  { rule: WARNING, id: idOf('endedMailed'), phase: 'firing', told: 'mail' },
  { rule: WARNING, id: idOf('endedLogged'), phase: 'firing', told: 'log' },
  { rule: WARNING, id: idOf('endedShadowed'), phase: 'firing' },
  { rule: WARNING, id: idOf('waiting'), phase: 'firing', told: 'waits' },
  { rule: WARNING, id: idOf('unassigned'), phase: 'firing', told: 'mail' },
  { rule: 'sim-old', id: idOf('ruleGone'), phase: 'firing', told: 'mail' },
  // Its rule was told for each episode once, and then once a cycle: that release left the first as it was.
  { rule: 'sim-silent', id: idOf('twoScopes'), phase: 'firing', told: 'mail' },
  { rule: 'sim-silent', id: idOf('twoScopes'), scope: '', phase: 'firing' },
  { rule: WARNING, id: idOf('closed'), scope: '2026-10', phase: 'firing', told: 'mail' },
  { rule: 'pool-usage-warning', kind: 2, id: 2, phase: 'firing', told: 'mail' },
]

/** The key of what is told of a row; the release before had them too. */
const keyOf = ({ rule, kind = 1, id, scope = CYCLE }: Row, told: string) =>
  `${rule}/${kind === 1 ? 'sim' : 'pool'}/${id}${scope === '' ? '' : `/${scope}`}/${told}`

/** A notification as that release wrote it. */
const notificationOf = (row: Row) => ({
  kind: 'fired',
  key: keyOf(row, 'fired'),
  level: 1,
  at: new Date(NOW - HOUR).toISOString(),
  tenantId: TENANT,
  tenantName: 'Meadow',
  rule: { name: row.rule, file: `sim/${row.rule}.json`, version: 1 },
  subject: { kind: row.kind === 2 ? 'pool' : 'sim', id: row.id, label: String(row.id) },
  message: `${row.rule} of ${row.id}`,
  since: new Date(NOW - HOUR).toISOString(),
  facts: { usageMB: 1, limitMB: 100, usagePct: 1, overageMB: 0 },
  pace: null,
  whatNext: 'Nothing.',
  why: [],
  howToStop: 'Exempt the SIM.',
})

async function fill(client: pg.Client): Promise<void> {
  const [began, now] = [new Date(BEGAN), new Date(NOW)]
  await client.query(`select set_config('app.tenant', '${TENANT}', false)`)
  for (const statement of ESTATE) await client.query(statement)
  await client.query(
    `insert into rule_sets (hash, rules, author, created_at, activated_at, active) values ('before', $1, 'Ann', $2, $2, true)`,
    [JSON.stringify(rulesWith('shadow')), began],
  )
  await client.query(
    `insert into mails (id, recipient, status, grouped, next_attempt_at, created_at, sent_at)
     values ('<sent@simherd>', 'billing@meadow.example', 'sent', true, $1, $1, $1)`,
    [began],
  )
  for (const row of ROWS) {
    const { rule, kind = 1, id, scope = CYCLE, phase, asked = null, told } = row
    const part = scope === '' ? '/episode-1' : ''
    const state = {
      phase,
      since: NOW - HOUR,
      episode: 1,
      occurrence: null,
      told: phase === 'pending' ? [] : [`fired${part}`],
      error: null,
    }
    await client.query(
      `insert into alerts (rule, subject_kind, subject_id, scope, state, firing, asked, asked_at, rule_version, evaluated_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, 1, $9)`,
      [
        rule,
        kind,
        id,
        scope,
        state,
        phase === 'firing',
        asked,
        asked === null ? null : new Date(NOW - HOUR),
        new Date(NOW - HOUR),
      ],
    )
    if (told === undefined) continue
    await client.query(
      `insert into watchdog_log (dedupe_key, rule, rule_version, level, message, at, cycle_key)
       values ($1, $2, 1, 1, 'before', $3, $4)`,
      [keyOf(row, 'fired'), rule, new Date(NOW - HOUR), CYCLE],
    )
    if (told === 'log') continue
    await client.query(
      `insert into notifications (dedupe_key, level, body, due_at, mail_id, created_at) values ($1, 1, $2, $3, $4, $3)`,
      [keyOf(row, 'fired'), notificationOf(row), new Date(NOW - HOUR), told === 'mail' ? '<sent@simherd>' : null],
    )
  }
  await client.query(`insert into mail_work (due_at) values ($1)`, [now])
  await client.query(
    `insert into due_subjects (subject_kind, subject_id, due_at, seq) values (1, ${idOf('pending')}, $1, nextval('due_seq'))`,
    [new Date(NOW + HOUR)],
  )
}

const closing: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const end of closing.toReversed()) await end()
})
let world: Awaited<ReturnType<typeof migrated>>
beforeAll(async () => {
  world = await migrated()
}, 60_000)

async function migrated() {
  const files = (await readMigrationFiles()).filter(({ name }) => name <= LAST)
  // The owner is bound by row-level security, as in an installation. What fills it is not.
  const database = await ownDatabase({ files })
  closing.push(database.drop)
  const client = new pg.Client({ connectionString: database.rootUrl })
  await client.connect()
  try {
    await fill(client)
  } finally {
    await client.end()
  }
  await migrate(database.url)
  const { db, close } = connect(database.url, { max: 4 })
  closing.push(close)
  const store: TestStore = {
    db,
    databaseUrl: database.url,
    now: NOW,
    jobs: [],
    clock: () => store.now,
    deadlockRetries: 0,
    enqueue: () => undefined,
  }
  const options = evaluationOptions()
  const sent: string[] = []
  const mailer = {
    render: (notices: readonly { readonly key: string }[]) => ({
      subject: 'Notices',
      text: notices.map(({ key }) => key).join('\n'),
      html: '',
      headers: {},
    }),
    transport: {
      send: ({ text: keys }: { readonly text: string }) => {
        sent.push(...keys.split('\n'))
        return Promise.resolve({ response: '250 OK', accepted: [] })
      },
    },
  }
  const asTenant = <T>(work: Parameters<typeof inTenant<T>>[2]) => inTenant(store, TENANT, work)
  const keysOf = async (table: 'watchdog_log' | 'notifications') => {
    const { rows } = await asTenant((tx) =>
      sql<{ key: string }>`select dedupe_key as key from ${sql.table(table)} order by id`.execute(tx.q),
    )
    return rows.map(({ key }) => key)
  }
  return {
    store,
    sent,
    put: (stage: string) => activateRules(store, rulesWith(stage), 'Ann'),
    /** Evaluates twice, as two jobs do, and mails. */
    evaluate: async () => {
      await watch(store, options, TENANT)
      await watch(store, options, TENANT)
      store.now += HOUR / 2
      await sendMails(store, mailer, { retryMaxMs: 1000, giveUpAfterMs: 1000 }, TENANT)
    },
    logged: () => keysOf('watchdog_log'),
    noticed: () => keysOf('notifications'),
    alerts: async () => {
      const { rows } = await asTenant((tx) =>
        sql<{
          rule: string
          kind: number
          id: number
          scope: string
          firing: boolean
          state: AlertState
          asked: string
        }>`
          select rule, subject_kind as kind, subject_id as id, scope, firing, state, asked from alerts
           order by rule, subject_kind, subject_id, scope`.execute(tx.q),
      )
      return rows
    },
  }
}

const BEFORE = ROWS.filter(({ told }) => told !== undefined).map((row) => keyOf(row, 'fired'))
const MAILED = ROWS.filter(({ told }) => told === 'mail').map((row) => keyOf(row, 'fired'))
const sorted = (keys: readonly string[]) => keys.toSorted()
const of = (rule: string, name: Name, told: string) => `${rule}/sim/${idOf(name)}/${CYCLE}/${told}`

describe('a database of the release before', () => {
  test('is told what its people do not know, each key once', async () => {
    await world.evaluate()
    const [logged, noticed] = [await world.logged(), await world.noticed()]

    expect(sorted(logged.slice(BEFORE.length))).toEqual(
      sorted([
        // Its end is told where its beginning was.
        of(WARNING, 'endedMailed', 'resolved'),
        of(WARNING, 'endedLogged', 'resolved'),
        // These have no rule, or no subject.
        of(WARNING, 'unassigned', 'withdrawn'),
        of('sim-old', 'ruleGone', 'withdrawn'),
        `pool-usage-warning/pool/2/${CYCLE}/withdrawn`,
        // The rule covers all SIMs, and nobody had looked at these by it.
        ...NAMES.filter((name) => SIMS[name] >= 20 && name !== 'unassigned' && name !== 'twoScopes').map((name) =>
          of('sim-silent', name, 'fired'),
        ),
      ]),
    )
    expect(noticed).toContain(of(WARNING, 'logged', 'fired'))
    expect(noticed).toContain(of(WARNING, 'endedMailed', 'resolved'))
    for (const name of ['endedLogged', 'endedShadowed'] as const)
      expect(noticed.filter((key) => key.startsWith(of(WARNING, name, '')))).toEqual([])
    expect(world.sent).toContain(of(WARNING, 'waiting', 'fired'))
    expect(world.sent.filter((key) => MAILED.includes(key))).toEqual([])
    expect(new Set(world.sent).size).toBe(world.sent.length)
  })

  test('goes on firing what fires, and ends what has nothing to fire for', async () => {
    await world.evaluate()
    const alerts = await world.alerts()
    const firing = alerts.filter((one) => one.firing)
    const found = (rule: string, name: Name) => firing.filter((one) => one.rule === rule && one.id === idOf(name))

    expect(found('sim-overage', 'over')).toMatchObject([{ asked: 'overLimit', state: { since: NOW - HOUR } }])
    for (const name of ['mailed', 'logged', 'waiting'] as const)
      expect(found(WARNING, name)).toMatchObject([{ state: { since: NOW - HOUR } }])
    expect(found('sim-silent', 'twoScopes')).toMatchObject([{ scope: CYCLE }])
    for (const name of ['unassigned', 'ruleGone', 'closed', 'endedMailed', 'endedShadowed'] as const)
      expect(
        firing.filter(({ rule, id }) => rule !== 'sim-silent' && id === idOf(name)),
        name,
      ).toEqual([])
    expect(firing.filter(({ kind, id }) => kind === 2 && id === 2)).toEqual([])
    expect(alerts.filter(({ scope }) => scope === '2026-10')).toMatchObject([{ state: { phase: 'resolved' } }])
  })

  test('waits on with what was pending, to its own end', async () => {
    world.store.now = Math.max(world.store.now, NOW + HOUR)
    await world.evaluate()
    // Past the distance that grouped mails keep.
    world.store.now += HOUR
    await world.evaluate()

    expect(
      (await world.alerts()).filter(({ rule, id }) => rule === 'sim-never-seen' && id === idOf('pending')),
    ).toMatchObject([{ firing: true, state: { phase: 'firing' } }])
    expect(world.sent.filter((one) => one === of('sim-never-seen', 'pending', 'fired'))).toHaveLength(1)
  })

  test('tells nothing of what is shadowed, until its rule may', async () => {
    const before = [...(await world.logged()), ...(await world.noticed())].filter((key) =>
      key.startsWith('sim-burn-rate'),
    )
    const [shadowed] = (await world.alerts()).filter(
      ({ rule, id }) => rule === 'sim-burn-rate' && id === idOf('shadowed'),
    )
    await world.put('notify')
    await world.evaluate()
    const key = of('sim-burn-rate', 'shadowed', 'fired')

    expect(before).toEqual([])
    expect(shadowed).toMatchObject({ firing: true })
    expect((await world.logged()).filter((one) => one === key)).toHaveLength(1)
    expect(world.sent.filter((one) => one === key)).toHaveLength(1)
  })
})
