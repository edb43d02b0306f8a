/** The order in which subjects are evaluated, and how many at a time, changes nothing of what is decided about them. */
import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { TariffType } from '../../../domain/codes.ts'
import { MB } from '../../../domain/units.ts'
import type { Subject } from '../../../domain/watchdog/subject.ts'
import { setSimWatchdog } from '../../../service/sims/set-sim-watchdog.ts'
import { evaluateAll } from '../../../service/watchdog/evaluate-all.ts'
import { cases } from '../../setup/cases.ts'
import { openStore, type TestStore } from '../../setup/estate.ts'
import { aWorld as anAlertWorld, asShipped, only, withParams } from './alert-world.ts'

/** Number of histories; one takes some two seconds. */
const RUNS = cases(8, 2)
const MOST_MS = 120_000 + RUNS * 40_000
const HOUR = 3_600_000
const SIMS = 4

const RULES = only({
  'pool-overage': asShipped,
  'pool-usage-warning': asShipped,
  'sim-usage-warning': withParams({ resolve: 'email' }),
})

interface Turn {
  readonly used: readonly { readonly sim: number; readonly megabytes: number }[]
  /** The warning threshold of a SIM from now on. */
  readonly threshold: { readonly sim: number; readonly pct: number } | null
  readonly hours: number
  /** Where in the order the second world begins, and whether it goes backwards. */
  readonly from: number
  readonly back: boolean
}
const sim = fc.integer({ min: 0, max: SIMS - 1 })
const turns: fc.Arbitrary<Turn[]> = fc.array(
  fc.record({
    used: fc.array(fc.record({ sim, megabytes: fc.constantFrom(-30, 20, 60, 110) }), { maxLength: 4 }),
    threshold: fc.option(fc.record({ sim, pct: fc.constantFrom(50, 90) })),
    hours: fc.constantFrom(0, 1, 30),
    from: fc.integer({ min: 0, max: SIMS }),
    back: fc.boolean(),
  }),
  { minLength: 3, maxLength: 10 },
)

const zeros = () => Array.from({ length: SIMS }, () => 0)

/** Drawn histories may be mild. This one warns of SIMs and of the pool, goes into overage and back out of it. */
const aTurn = (used: Turn['used'], from: number): Turn => ({
  used,
  threshold: null,
  hours: 1,
  from,
  back: from % 2 === 1,
})
const each = (megabytes: number) => zeros().map((_, sim) => ({ sim, megabytes }))
const MONTH = [
  { ...aTurn([{ sim: 1, megabytes: 60 }], 2), threshold: { sim: 1, pct: 50 } },
  aTurn(each(60), 0),
  aTurn(each(60), 3),
  aTurn(each(110), 1),
  aTurn(each(-110), 4),
  aTurn(each(-110), 2),
]

const aWorld = (store: TestStore) =>
  anAlertWorld({ rules: RULES, tariff: TariffType['Dynamic Pool'], sims: SIMS, store })
type World = Awaited<ReturnType<typeof aWorld>>

async function lives(world: World, { used, threshold }: Turn, soFar: number[]): Promise<void> {
  for (const { sim: n, megabytes } of used) {
    const amount = Math.max(megabytes, -(soFar[n] ?? 0))
    if (amount === 0) continue
    soFar[n] = (soFar[n] ?? 0) + amount
    const correction = amount < 0 ? { correction: true } : {}
    await world.record([world.usage(world.sims[n] ?? 0, { bytesDown: amount * MB, ...correction })])
  }
  if (threshold !== null)
    await world.asTenant((tx) =>
      setSimWatchdog(tx, { id: world.sims[threshold.sim] ?? 0, warningThresholdPct: threshold.pct }),
    )
}

/** All that was decided, with the subjects by their place in the world. */
async function found(world: World) {
  const place = (kind: string, id: number) => (kind === 'pool' ? 'pool' : `sim ${world.sims.indexOf(id)}`)
  const placed = (key: string) => key.replace(/(pool|sim)\/(\d+)/, (_, kind, id) => place(kind, Number(id)))
  const alerts = await world.rows(
    sql<{ rule: string; kind: string; id: number; scope: string; state: unknown; asked: string | null }>`
      select rule, case subject_kind when 1 then 'sim' else 'pool' end as kind, subject_id as id, scope, state, asked from alerts order by rule, subject_kind, subject_id, scope`,
  )
  return {
    alerts: alerts.map(({ kind, id, ...alert }) => ({ ...alert, subject: place(kind, id) })),
    logged: (await world.log()).map(({ key }) => placed(key)).toSorted(),
    notices: (await world.notices()).map(({ key }) => placed(key)).toSorted(),
  }
}

test('alerts are the same whatever the order in which they are evaluated', { timeout: MOST_MS + 30_000 }, async () => {
  const seen = new Set<string>()
  const property = fc.asyncProperty(turns, async (history) => {
    const { store, close } = await openStore()
    try {
      const [together, alone] = [await aWorld(store), await aWorld(store)]
      const used = [zeros(), zeros()] as const
      for (const turn of history) {
        store.now += turn.hours * HOUR + 60_000
        await lives(together, turn, used[0])
        await lives(alone, turn, used[1])
        const subjects = ({ poolId, sims }: World): Subject[] => [
          { kind: 'pool', id: poolId },
          ...sims.map((id): Subject => ({ kind: 'sim', id })),
        ]
        const evaluate = ({ tenantId, options }: World, some: readonly Subject[]) =>
          evaluateAll({ store, options, tenantId }, some)
        await evaluate(together, subjects(together))
        const all = subjects(alone)
        const turned = [...all.slice(turn.from), ...all.slice(0, turn.from)]
        for (const one of turn.back ? turned.toReversed() : turned) await evaluate(alone, [one])
        // What a pool began to inhibit after its SIMs were evaluated is found when they are looked at again.
        await evaluate(together, subjects(together))
        for (const one of all) await evaluate(alone, [one])
        const [a, b] = [await found(together), await found(alone)]
        expect(b).toEqual(a)
        for (const key of a.logged) seen.add(key.replace(/sim \d/, 'sim'))
      }
    } finally {
      await close()
    }
  })
  await fc.assert(property, { numRuns: RUNS, interruptAfterTimeLimit: MOST_MS, examples: [[MONTH]] })
  expect(seen.size).toBeGreaterThan(3)
})
