/**
 * Measures how long a usage record takes to become a mail that the mail server has accepted, beyond the times that notices
 * wait on purpose (domain/notifications/waits.ts, MAIL_GROUP_FIRST): at so many alerts a second, with the queues in PostgreSQL.
 *
 *   a tenant's file ──▶ API ──▶ worker: log, notices ──▶ the stated wait ──▶ worker: mail ──▶ SMTP server, which answers 250
 *
 * Tenants send one file each, in sequence, like mediations. Half of its alerts are critical: their mail
 * leaves 30 s after the last notice of the cause, or 2 minutes after the first. The others warn: their mail leaves a
 * minute after the first.
 *
 * Usage: node tools/bench/alert-latency.ts [--rate 100] [--seconds 60] [--each 60]. The rate is alerts a second of all tenants
 * together, `each` the alerts of a tenant's file. Exits with 1 if an alert is missing, or if the p99 misses its target.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { SMTPServer } from 'smtp-server'
import { freePort } from '../../stack/free-port.ts'
import { startApiAndWorker } from './api.ts'
import { anEstate } from './estate.ts'
import { ALLOWANCE } from './estate-rows.ts'
import { makeQuiet, post, quietSims, untilSwept } from './log-latency.ts'
import { machine, quantile, wholeNumbers } from './measure.ts'

/** A sweep finds mails whose wait has ended: SWEEP_EVERY and a quarter; and as long for the work as a log entry may take, twice. */
const MOST_MS = 7250
const SIMS = 200
/** As stated: domain/notifications/waits.ts for a cycle of a day or more, and MAIL_GROUP_FIRST. */
const WAITS = { forNextMs: 30_000, mostMs: 120_000, groupFirstMs: 60_000 }
const PATIENCE_MS = 240_000
const CRITICAL = 2

const { rate, seconds, each } = wholeNumbers({ rate: 100, seconds: 60, each: 60 })
const tenants = Math.round((rate * seconds) / each)

const ruleOf = (name: string, level: string, conditions: readonly object[], facts: readonly object[]) => ({
  file: `sim/${name}.json`,
  text: JSON.stringify({
    name,
    description: 'For a bench.',
    subject: 'sim',
    conditions: { all: conditions },
    event: {
      type: 'overage',
      params: {
        level,
        message: 'SIM {{iccid}} has used {{usageMB}}.',
        actions: ['log', 'email'],
        once: 'cycle',
        resolve: 'log',
        stage: 'notify',
      },
    },
    examples: [
      { fires: true, facts: facts[0] },
      { fires: false, facts: facts[1] },
    ],
  }),
})
const pct = (operator: string, value: number) => ({ fact: 'usagePct', operator, value })
const RULES = [
  ruleOf('full', 'Critical', [pct('greaterThanInclusive', 95)], [{ usagePct: 99 }, { usagePct: 90 }]),
  ruleOf(
    'near',
    'Warning',
    [pct('greaterThanInclusive', 80), pct('lessThan', 95)],
    [{ usagePct: 90 }, { usagePct: 99 }],
  ),
]

/** When the mail server accepted a mail, by its Message-ID. Epoch milliseconds. */
const acceptedAt = new Map<string, number>()
const smtp = new SMTPServer({
  authOptional: true,
  disabledCommands: ['STARTTLS'],
  disableReverseLookup: true,
  onData(stream, _session, callback) {
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.once('end', () => {
      const [, messageId = ''] = /^message-id: *(<.*>)\r?$/im.exec(Buffer.concat(chunks).toString()) ?? []
      acceptedAt.set(messageId, Date.now())
      callback()
    })
  },
})
smtp.on('error', () => undefined)
const port = await freePort()
await new Promise<void>((resolve) => smtp.listen(port, '127.0.0.1', resolve))

const estate = await anEstate(SIMS)
const owner = new pg.Client({ connectionString: estate.url })
await owner.connect()
try {
  const made = await estate.addTenants(tenants, SIMS)
  await makeQuiet(estate.url)
  await owner.query('update tenants set alert_guard_least = 1000')
  const service = await startApiAndWorker(estate, { SMTP_URL: `smtp://127.0.0.1:${port}` })
  try {
    const response = await fetch(`${service.internalUrl}/internal/rules`, {
      method: 'POST',
      headers: { authorization: `Bearer ${estate.operatorKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ files: RULES, author: 'the bench' }),
    })
    if (!response.ok) throw new Error(`POST /internal/rules: ${response.status} ${await response.text()}`)
    await untilSwept(estate.url)

    const sentAt = new Map<string, number>()
    const posting: Promise<void>[] = []
    const began = performance.now()
    for (const [n, { tenantId }] of made.entries()) {
      const sims = await quietSims(estate.url, tenantId, each)
      const lines = sims.map(({ iccid }, k) =>
        JSON.stringify({
          recordId: `${tenantId}/${iccid}`,
          iccid,
          at: new Date().toISOString(),
          bytesDown: ALLOWANCE * (k % 2 === 0 ? 0.99 : 0.9),
        }),
      )
      await sleep(Math.max(0, began + (n * each * 1000) / rate - performance.now()))
      sentAt.set(tenantId, Date.now())
      posting.push(post(service.internalUrl, estate.operatorKey, tenantId, lines))
    }
    await Promise.all(posting)
    const took = (performance.now() - began) / 1000

    const alerts = tenants * each
    const accepted = await untilAccepted(alerts)
    print(alerts, took, accepted, sentAt)
    console.log(`peak of memory: ${service.memory()}`)
  } finally {
    await service.stop()
  }
} finally {
  await owner.end()
  await estate.close()
  smtp.close()
}

interface Notice {
  readonly tenant: string
  readonly mail: string
  readonly level: number
  readonly at: Date
}

/** Waits until every alert is in an accepted mail. */
async function untilAccepted(alerts: number): Promise<Notice[]> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(500)) {
    const { rows } = await owner.query<Notice>(
      'select tenant_id as tenant, mail_id as mail, level, created_at as at from notifications where mail_id is not null',
    )
    if (rows.length >= alerts && rows.every(({ mail }) => acceptedAt.has(mail))) {
      if (rows.length === alerts) return rows
      throw new Error(`got ${rows.length} notices, expected ${alerts}`)
    }
    if (Date.now() > deadline) throw new Error(`got ${rows.length} notices in mails, expected ${alerts}`)
  }
}

/** The due time of a mail, from its notices. */
function leavesAt(notices: readonly Notice[]): number {
  const [first, last] = [Math.min, Math.max].map((pick) => pick(...notices.map(({ at }) => at.getTime())))
  if (first === undefined || last === undefined) return Number.NaN
  const isCause = notices.every(({ level }) => level === CRITICAL)
  return isCause ? Math.min(last + WAITS.forNextMs, first + WAITS.mostMs) : first + WAITS.groupFirstMs
}

function print(alerts: number, took: number, notices: readonly Notice[], sentAt: ReadonlyMap<string, number>): void {
  const byMail = Map.groupBy(notices, ({ mail }) => mail)
  const parts = [...byMail].flatMap(([mail, all]) => {
    const late = (acceptedAt.get(mail) ?? Number.NaN) - leavesAt(all)
    return all.map(({ tenant, level, at }) => {
      const told = at.getTime() - (sentAt.get(tenant) ?? Number.NaN)
      return {
        level,
        told,
        late,
        beyond: told + late,
        whole: (acceptedAt.get(mail) ?? Number.NaN) - (sentAt.get(tenant) ?? Number.NaN),
      }
    })
  })
  const row = (name: string, some: readonly (typeof parts)[number][]) =>
    `| ${[
      name,
      some.length,
      ...(['told', 'late', 'beyond', 'whole'] as const).flatMap((what) =>
        [0.5, 0.99].map((share) =>
          quantile(
            some.map((part) => part[what]),
            share,
          ).toFixed(0),
        ),
      ),
    ].join(' | ')} |`
  console.log(
    `${machine()}\n${alerts} alerts of ${tenants} tenants within ${took.toFixed(1)} s, ${byMail.size} mails; milliseconds\n`,
  )
  console.log(
    '| | alerts | record to notice p50 | p99 | end of the wait to accepted p50 | p99 | both p50 | p99 | record to accepted p50 | p99 |',
  )
  console.log('|---|---|---|---|---|---|---|---|---|---|')
  console.log(
    row(
      'Critical, waits 30 s',
      parts.filter(({ level }) => level === CRITICAL),
    ),
  )
  console.log(
    row(
      'Warning, waits 60 s',
      parts.filter(({ level }) => level !== CRITICAL),
    ),
  )
  const p99 = quantile(
    parts.map(({ beyond }) => beyond),
    0.99,
  )
  console.log(`\np99 beyond the stated waits ${p99.toFixed(0)} ms, target ≤ ${MOST_MS}`)
  if (!(p99 <= MOST_MS)) process.exitCode = 1
}
