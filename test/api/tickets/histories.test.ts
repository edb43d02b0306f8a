import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aBridge } from '../../setup/bridge.ts'
import { cases } from '../../setup/cases.ts'
import { useHarness } from '../harness.ts'
import { ask, commandsOn } from './commands.ts'
import { execution, opened, type SimModel, TICKET } from './model.ts'
import { type Ask, answerTo, aWorld, compare, compareDetails, execute, open, type Real, send } from './world.ts'

const SIMS = 3
const harness = useHarness()
const bridge = await aBridge()

/** Histories. They take a tenth of the time limit; the rest is to shrink a failing one. */
const RUNS = cases(30)
const MOST_MS = 120_000 + RUNS * 10_000

describe('SIMs and their tickets', () => {
  test('follow their model under any sequence of requests', { timeout: MOST_MS + 30_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commandsOn(SIMS), { maxCommands: 30, size: 'max' }), async (history) => {
        const world = await aWorld(harness, bridge, SIMS)
        await fc.asyncModelRun(() => world, history)
        await compareDetails(world.model, world.real)
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: MOST_MS },
    )
  })

  test('treat concurrent requests as in some order', { timeout: MOST_MS + 30_000 }, async () => {
    const before = fc.array(ask, { maxLength: 2 })
    const atOnce = fc.array(fc.oneof(ask, fc.record({ cancel: fc.nat(3) })), { minLength: 2, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(before, atOnce, async (first, batch) => {
        const { model, real } = await aWorld(harness, bridge, 2)
        const [, sim] = model.sims
        if (sim === undefined) throw new Error('there is no SIM in use')
        for (const one of first) await open(model, real, sim, one)

        const outcomes = await Promise.all(batch.map((one) => outcomeOf(real, sim, one)))
        const order = await newestLast(real, sim)
        const serial = orders(batch.length).map((order) => inOrder(real, sim, batch, order))
        const same = serial.find(
          (one) =>
            isDeepStrictEqual(
              one.outcomes,
              outcomes.map(({ status, code }) => ({ status, code })),
            ) &&
            isDeepStrictEqual(
              one.sim.tickets.map(({ id, status }) => ({ id, status })),
              order.map(({ id, status }) => ({ id: nameOf(outcomes, id), status })),
            ),
        )
        expect(same, `some order of ${fc.stringify(batch)} has the answers ${JSON.stringify(outcomes)}`).toBeDefined()
        if (same === undefined) return

        const asked = await workedOffByMany(real, sim)
        expect(asked.map((id) => nameOf(outcomes, id))).toEqual(withCarrier(same.sim, real))
        for (const ticket of same.sim.tickets) Object.assign(ticket, { id: idOf(outcomes, ticket.id) })
        const others = model.sims.filter((one) => one !== sim)
        const after = {
          sims: [...others, same.sim],
          order: [...others.flatMap(({ tickets }) => tickets), ...same.sim.tickets].map(({ id }) => id),
        }
        await compare(after, real)
        await compareDetails(after, real)
      }),
      { numRuns: RUNS, interruptAfterTimeLimit: MOST_MS },
    )
  })
})

type One = Ask | { readonly cancel: number }
interface Outcome {
  readonly status: number
  readonly code: string | null
  readonly id: string | null
}

async function outcomeOf(real: Real, sim: SimModel, one: One): Promise<Outcome> {
  const answer =
    'cancel' in one
      ? await real.tenant.ask('DELETE', `/api/tickets/${sim.tickets[one.cancel]?.id ?? crypto.randomUUID()}`)
      : await send(real, sim.id, one)
  const { code = null, id = null } = answer.body
  return { status: answer.status, code, id: 'cancel' in one ? null : id }
}

/** Names a ticket of the batch by its place in the batch; earlier tickets keep their ids. */
const nameOf = (outcomes: readonly Outcome[], id: string) => {
  const place = outcomes.findIndex((one) => one.id === id)
  return place < 0 ? id : `#${place}`
}
const idOf = (outcomes: readonly Outcome[], name: string) =>
  name.startsWith('#') ? (outcomes[Number(name.slice(1))]?.id ?? name) : name

async function newestLast({ tenant }: Real, sim: SimModel): Promise<{ id: string; status: number }[]> {
  const { body } = await tenant.ask('GET', '/api/tickets')
  return body.filter(({ simId }: { simId: number }) => simId === sim.id).toReversed()
}

const orders = (count: number): number[][] =>
  count === 0
    ? [[]]
    : orders(count - 1).flatMap((order) => Array.from({ length: count }, (_, at) => order.toSpliced(at, 0, count - 1)))

/** The outcomes of a batch in one order. */
function inOrder(real: Real, sim: SimModel, batch: readonly One[], order: readonly number[]) {
  const after = structuredClone(sim)
  const outcomes: { status: number; code: string | null }[] = []
  for (const n of order) {
    const one = batch[n]
    if (one === undefined) continue
    if ('cancel' in one) {
      const ticket = sim.tickets[one.cancel] && after.tickets[one.cancel]
      const pending = ticket?.status === TICKET.pending
      outcomes[n] = pending
        ? { status: 200, code: null }
        : ticket === undefined
          ? { status: 404, code: 'ticket_not_found' }
          : { status: 409, code: 'ticket_not_pending' }
      if (pending) ticket.status = TICKET.cancelled
    } else {
      const { wanted, status, code } = answerTo(real, after, one)
      outcomes[n] = { status, code }
      if (status === 200) opened(after, wanted, `#${n}`, real.harness.now)
    }
  }
  return { sim: after, outcomes }
}

/** Three workers at once. @returns the tickets requested from the carrier, in order */
async function workedOffByMany(real: Real, sim: SimModel): Promise<string[]> {
  let atWork = 0
  const asked: string[] = []
  real.bridge.answer = async ({ ticketId }) => {
    expect(++atWork, 'requests to the carrier for one SIM at a time').toBe(1)
    asked.push(ticketId)
    await new Promise((resolve) => setImmediate(resolve))
    atWork--
    return 'ok' as const
  }
  await execute(real, sim.id, { workers: 3 })
  await execute(real, sim.id)
  return asked
}

/** Executes the model's tickets with a carrier that accepts all. @returns the tickets requested from it */
function withCarrier(sim: SimModel, real: Real): string[] {
  const asked: string[] = []
  const running = execution(sim, real.harness.now)
  for (let next = running.next(); next.done !== true; next = running.next('ok')) asked.push(next.value.id)
  return asked
}
