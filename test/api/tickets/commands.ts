/** The commands in histories of SIMs and their tickets. Each has a text, for the report of a failing history. */
import fc from 'fast-check'
import { type CarrierResponse, openTickets, type SimModel } from './model.ts'
import {
  type Ask,
  cancel,
  compare,
  type Meanwhile,
  type Model,
  NONE,
  open,
  plain,
  queue,
  type Real,
  tag,
  workOff,
} from './world.ts'

type Command = fc.AsyncCommand<Model, Real>

const command = (text: string, act: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run: async (model, real) => {
    real.harness.now += 1000
    await act(model, real)
    await compare(model, real)
  },
  toString: () => text,
})

const simOf = (model: Model, n: number): SimModel => {
  const sim = model.sims[n]
  if (sim === undefined) throw new Error(`the model has no SIM ${n}`)
  return sim
}
const textOf = ({ kind, by, pool, tariff, tag, atBoundary }: Ask) =>
  [
    kind,
    ...(by === 'user' ? [] : [`by ${by}`]),
    ...(pool === NONE ? [] : [`pool ${pool}`]),
    ...(tariff === NONE ? [] : [`tariff ${tariff}`]),
    ...(tag === null ? [] : [`tag '${tag}'`]),
    ...(atBoundary ? ['at the boundary'] : []),
  ].join(' ')

const often = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary })
const label = fc.option(fc.constantFrom('barn', 'pasture'), { freq: 1 })
const pool = fc.oneof(often(5, fc.nat(2)), often(1, fc.nat(3)))
const tariff = fc.oneof(often(5, fc.nat(2)), often(1, fc.nat(4)))
const who = <const T extends string>(...names: T[]) => fc.constantFrom(...names)

/** A ticket of any kind. */
export const ask: fc.Arbitrary<Ask> = fc.oneof(
  often(
    3,
    fc.record({ pool, tariff, tag: label }).map((to) => ({ ...plain, ...to, kind: 'provision' as const })),
  ),
  often(4, fc.constant({ ...plain, kind: 'activate' as const })),
  often(
    3,
    who('user', 'watchdog').map((by) => ({ ...plain, by, kind: 'suspend' as const })),
  ),
  often(
    3,
    fc
      .record({ pool, tariff, tag: label, atBoundary: fc.boolean() })
      .map((to) => ({ ...plain, ...to, by: 'month-end' as const, kind: 'move' as const })),
  ),
  often(
    2,
    fc
      .constantFrom({ by: 'user', atBoundary: false } as const, { by: 'month-end', atBoundary: true } as const)
      .map((one) => ({ ...plain, ...one, kind: 'unassign' as const })),
  ),
  often(
    2,
    who('refresh', 'sms').map((kind) => ({ ...plain, kind })),
  ),
)
const which = fc.nat(11)
const answer: fc.Arbitrary<CarrierResponse> = fc.oneof(
  often(1, fc.constant('ok' as const)),
  often(1, who('refused', 'away', 'lost', 'killed')),
)
const change = fc.oneof(fc.constant('unprovision' as const), fc.record({ pool, tariff }))
const changeIn = (to: typeof change extends fc.Arbitrary<infer T> ? T : never) =>
  to === 'unprovision' ? `queue ${to}` : `queue pool ${to.pool} tariff ${to.tariff}`

/** The index in `model.order` of one of the SIM's open tickets; -1 if it has none. */
const openPlace = (model: Model, sim: SimModel, n: number): number => {
  const open = openTickets(sim)
  return model.order.indexOf(open[n % open.length]?.id ?? '')
}

const meanwhile: fc.Arbitrary<{ text: string; act: Meanwhile }> = fc.oneof(
  ask.map((one) => ({
    text: textOf(one),
    act: (model: Model, real: Real, sim: SimModel) => open(model, real, sim, one),
  })),
  fc.nat(2).map((n) => ({
    text: `cancel its open ticket ${n}`,
    act: (model: Model, real: Real, sim: SimModel) => cancel(model, real, openPlace(model, sim, n)),
  })),
  change.map((to) => ({ text: changeIn(to), act: (_model: Model, real: Real, sim: SimModel) => queue(real, sim, to) })),
)

/** The commands of a history of `count` SIMs. */
export function commandsOn(count: number): fc.Arbitrary<Command>[] {
  const sim = fc.nat(count - 1)
  const opening = fc
    .tuple(sim, ask)
    .map(([n, one]) => command(`SIM ${n}: ${textOf(one)}`, (model, real) => open(model, real, simOf(model, n), one)))
  const executing = fc
    .tuple(sim, fc.array(answer, { maxLength: 3 }), fc.array(meanwhile, { maxLength: 2 }))
    .map(([n, answers, also]) =>
      command(
        `SIM ${n}: execute [${answers.join()}]${also.length > 0 ? ` meanwhile [${also.map(({ text }) => text).join(', ')}]` : ''}`,
        (model, real) =>
          workOff(
            model,
            real,
            simOf(model, n),
            answers,
            also.map(({ act }) => act),
          ),
      ),
    )
  return [
    opening,
    opening,
    opening,
    opening,
    executing,
    executing,
    which.map((n) => command(`cancel ticket ${n}`, (model, real) => cancel(model, real, n))),
    fc.constantFrom(1, 5, 15).map((seconds) =>
      command(`wait ${seconds} s`, async (_model, { harness }) => {
        harness.now += seconds * 1000
      }),
    ),
    fc
      .tuple(sim, fc.constantFrom('meadow', ''))
      .map(([n, text]) => command(`SIM ${n}: tag '${text}'`, (model, real) => tag(real, simOf(model, n), text))),
    fc
      .tuple(sim, change)
      .map(([n, to]) => command(`SIM ${n}: ${changeIn(to)}`, (model, real) => queue(real, simOf(model, n), to))),
  ]
}
