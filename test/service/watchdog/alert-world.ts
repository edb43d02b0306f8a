/** A tenant with a pool of Active SIMs, whose alerts a test follows. Rules are in force for all tenants: each has a store of its own. */
import { sql } from 'kysely'
import type { NewSilence } from '../../../domain/alerts/silence.ts'
import { PoolType, TariffType, WatchdogMode } from '../../../domain/codes.ts'
import type { AlertNotification } from '../../../domain/notifications/notification.ts'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import type { SimWatchdogChange } from '../../../domain/sims/sim.ts'
import { MB } from '../../../domain/units.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import type { AlertState } from '../../../rules/alerts/alert-state.ts'
import { addSilence } from '../../../service/alerts/silence-alerts.ts'
import { changeNotices } from '../../../service/channels/change-notices.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { setSimWatchdog } from '../../../service/sims/set-sim-watchdog.ts'
import { aPool, aStore, aTariff, type TestStore } from '../../setup/estate.ts'
import { STEPS } from '../../unit/rules/samples.ts'
import { aHarness, evaluationOptions, watch } from '../harness.ts'

const shipped = await readRuleFiles('')
const MINUTE = 60_000

export type Edit = (rule: { event: { params: Record<string, unknown> }; [field: string]: unknown }) => unknown

/** Only these shipped rules, each edited. */
export const only = (edits: Readonly<Record<string, Edit>>): RuleSource[] =>
  Object.entries(edits).map(([name, edit]) => {
    const found = shipped.find(({ file }) => file.endsWith(`/${name}.json`))
    if (found === undefined) throw new Error(`there is no rule ${name}`)
    const rule = JSON.parse(found.text)
    edit(rule)
    return { file: found.file, text: JSON.stringify(rule) }
  })
export const asShipped: Edit = () => undefined
export const withParams =
  (params: object): Edit =>
  (rule) =>
    Object.assign(rule.event.params, params)
export const inStage = (stage: string): Edit => withParams({ stage })
/** Fires while a comparison holds. @param examples of its fact: a value that fires, and one that does not */
export const firesOn =
  (leaf: { fact: string; operator: string; value: unknown }, [fires, rests]: readonly unknown[], params = {}): Edit =>
  (rule) => {
    const examples = [
      { fires: true, facts: { [leaf.fact]: fires } },
      { fires: false, facts: { [leaf.fact]: rests } },
    ]
    Object.assign(rule, { conditions: { all: [leaf] }, examples })
    Object.assign(rule.event.params, params)
  }

/** Tells each of its steps: at 50, 80, 100 %, and then every 25. */
export const climbing: Edit = (rule) => {
  const examples = [
    { fires: true, step: 80, facts: { usagePct: 99 } },
    { fires: false, facts: { usagePct: 49 } },
  ]
  const ladder = { fact: 'usagePct', steps: STEPS, every: 25 }
  Object.assign(rule, { conditions: undefined, ladder, examples })
  Object.assign(rule.event.params, {
    level: undefined,
    message: 'SIM {{iccid}} has passed {{step}}: {{usageMB}} of {{limitMB}}.',
    resolvedMessage: 'SIM {{iccid}} is below {{step}} again.',
  })
}

export const OVERAGE = only({ 'sim-overage': asShipped })
export const WARNING = only({ 'sim-usage-warning': asShipped })
export const BOTH = only({ 'sim-overage': asShipped, 'sim-usage-warning': asShipped })
/** Keys of what the two tell first, as `logged` and `mailed` give them. */
export const [OVER, WARNED] = ['sim-overage/sim/2026-11/fired', 'sim-usage-warning/sim/2026-11/fired']

export interface WorldOptions {
  readonly rules: readonly RuleSource[]
  readonly mode?: WatchdogMode
  readonly tariff?: TariffType
  readonly sims?: number
  /** Default: a new one. */
  readonly store?: TestStore
}

/** Each SIM's allowance is 100 MB. The pool's name is `meters`, and it warns at 80 %. */
export async function aWorld({
  rules,
  mode = WatchdogMode.Enforce,
  tariff = TariffType.Standard,
  sims: count = 1,
  store: given,
}: WorldOptions) {
  const store = given ?? (await aStore())
  const put = (files: readonly RuleSource[]) => activateRules(store, files, 'Ann')
  await put(rules)
  const harness = await aHarness(store)
  const poolOf = (name: string, type: TariffType, watchdogMode: WatchdogMode) =>
    harness.asTenant(async (tx) => {
      const { id } = await aTariff(tx, type, 100 * MB)
      const pool = type === TariffType['Dynamic Pool'] ? PoolType.Dynamic : PoolType.Standard
      return (await aPool(tx, id, { type: pool, watchdogMode, warningThresholdPct: 80, name })).id
    })
  const poolId = await poolOf('meters', tariff, mode)
  const sims = await harness.activeSims(count, { poolId })
  const options = evaluationOptions()
  const evaluate = () => watch(store, options, harness.tenantId)
  const wait = (ms: number) => {
    store.now += ms
    return evaluate()
  }
  const withoutId = (keys: readonly { readonly key: string }[]) => keys.map(({ key }) => key.replace(/\/\d+(?=\/)/, ''))
  await evaluate()
  return {
    ...harness,
    store,
    poolId,
    poolOf,
    sims,
    sim: sims[0] ?? 0,
    put,
    options,
    evaluate,
    /** Lets time pass, and evaluates. */
    wait,
    /** Records usage, and has it evaluated a minute later. @param megabytes less than 0: a correction */
    use: async (simId: number, megabytes: number) => {
      const bytes = { bytesDown: Math.round(megabytes * MB), ...(megabytes < 0 ? { correction: true } : {}) }
      const { accepted } = await harness.record([harness.usage(simId, bytes)])
      if (accepted !== 1) throw new Error('the record was not accepted')
      await wait(MINUTE)
    },
    silence: (about: Partial<NewSilence>, lasts: string | null = 'P2D') =>
      harness.asTenant((tx) => addSilence(tx, { ...about, lasts, reason: 'The meter is replaced' })),
    /** Changes the settings of the first SIM. */
    set: (settings: SimWatchdogChange) =>
      harness.asTenant((tx) => setSimWatchdog(tx, { id: sims[0] ?? 0, ...settings })),
    /** Says how often usage is received. Beyond one and a half times as long the feed is stale, and its alerts stand still. */
    awaitUsage: (feedEvery: string) =>
      harness.asTenant((tx) => changeNotices(tx, { timeZone: 'UTC', feedEvery, escalateAfter: null, mailsFrom: 0 })),
    /** Keys of the log's entries, without the subject's id. */
    logged: async () => withoutId(await harness.log()),
    notices: async () => {
      const rows = await harness.rows(sql<{ body: AlertNotification }>`select body from notifications order by id`)
      return rows.map(({ body }) => body)
    },
    mailed: async () =>
      withoutId(await harness.rows(sql<{ key: string }>`select dedupe_key as key from notifications order by id`)),
    /** Gives all waiting notifications to a mail, as the sender does. */
    mailAll: () =>
      harness.asTenant(async (tx) => {
        const id = `<${crypto.randomUUID()}@simherd>`
        await sql`
          insert into deliveries (mail_id, recipient, kind, next_attempt_at, created_at)
          values (${id}, 'billing@meadow.example', 'cause', ${tx.now}, ${tx.now})`.execute(tx.q)
        await sql`update notifications set mail_id = ${id} where mail_id is null`.execute(tx.q)
      }),
    signals: async () => {
      const rows = await harness.rows(sql<{ signal: string }>`
        select request ->> 'signal' as signal from workflow_outbox order by id`)
      return rows.map(({ signal }) => signal)
    },
    alerts: () =>
      harness.rows(sql<{ rule: string; scope: string; firing: boolean; state: AlertState }>`
        select rule, scope, firing, state from alerts order by rule, subject_kind, subject_id, scope`),
  }
}
export type World = Awaited<ReturnType<typeof aWorld>>
