/**
 * How badly the simulated carrier behaves. Random values come from a seed, by ticket: the order of calls does not
 * matter.
 */
import { createHash } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'

const Rate = Type.Number({ minimum: 0, maximum: 1 })
const Milliseconds = Type.Integer({ minimum: 0, maximum: 3_600_000 })

export const Knobs = Type.Object(
  {
    /** Shortest and longest time of a response, in milliseconds. */
    latencyMs: Type.Tuple([Milliseconds, Milliseconds]),
    /** Share of calls that get a 503 without an effect, 0 to 1. */
    failureRate: Rate,
    /**
     * Share of effects whose response is lost, 0 to 1. Half by a broken connection, half by a response `lateMs` late.
     */
    actsThenTimesOutRate: Rate,
    lateMs: Milliseconds,
    /** Whether every operation is refused with a 401, as if the secret had expired. */
    refusesSecret: Type.Boolean(),
    seed: Type.Integer(),
  },
  { additionalProperties: false },
)
export type Knobs = Static<typeof Knobs>

const DEFAULTS: Knobs = {
  latencyMs: [0, 0],
  failureRate: 0,
  actsThenTimesOutRate: 0,
  lateMs: 60_000,
  refusesSecret: false,
  seed: 1,
}

/**
 * The knobs with some of them changed.
 *
 * @throws Error with the knob and what is wrong with it
 */
export function turnKnobs(change: unknown, current: Knobs = DEFAULTS): Knobs {
  if (typeof change !== 'object' || change === null) throw new Error('knobs: must be an object')
  const knobs: unknown = { ...current, ...change }
  if (!Value.Check(Knobs, knobs)) {
    const faults = [...Value.Errors(Knobs, knobs)].map(
      ({ instancePath, message }) => `${instancePath || '/'} ${message}`,
    )
    throw new Error(`knobs: ${faults.join('; ')}`)
  }
  return knobs
}

export interface Mishaps {
  readonly latencyMs: number
  readonly fails: boolean
  readonly lost: 'no' | 'dropped' | 'late'
}

/** The faults of one call of a ticket. The same for the same seed, ticket and attempt. */
export function drawMishaps(knobs: Knobs, ticketId: string, attempt: number): Mishaps {
  const hash = createHash('sha256').update(`${knobs.seed}/${ticketId}/${attempt}`).digest()
  const draw = (index: number) => hash.readUInt32LE(index * 4) / 2 ** 32
  const [from, to] = knobs.latencyMs
  return {
    latencyMs: from + draw(0) * Math.max(0, to - from),
    fails: draw(1) < knobs.failureRate,
    lost: draw(2) >= knobs.actsThenTimesOutRate ? 'no' : draw(3) < 0.5 ? 'dropped' : 'late',
  }
}
