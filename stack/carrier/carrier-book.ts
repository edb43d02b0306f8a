/**
 * The simulated carrier's record of every call and its outcome, kept in a journal.
 *
 * An effect is in the journal before the response is sent, so a carrier that is killed forgets none.
 */
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { openJournal } from '../journal.ts'
import { type Effect, makeLines, OPERATIONS, type OperationRequest } from './lines.ts'

export const OperationBody = Type.Object({
  ticketId: Type.String({ minLength: 1, maxLength: 100 }),
  operation: Type.Unsafe<OperationRequest['operation']>({ type: 'string', enum: [...OPERATIONS] }),
  iccid: Type.String({ pattern: '^\\d{18,22}$' }),
  tariff: Type.Optional(Type.String()),
  pool: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
})

/**
 * How a call ended. `done`, `already`: with an effect. `duplicate`: with a remembered response. `refused`: as
 * impossible. `failed`: with a simulated failure.
 */
const OUTCOMES = ['done', 'already', 'duplicate', 'refused', 'failed'] as const
type Outcome = (typeof OUTCOMES)[number]

const Entry = Type.Intersect([
  OperationBody,
  Type.Object({ at: Type.String(), outcome: Type.Unsafe<Outcome>({ type: 'string', enum: [...OUTCOMES] }) }),
])

interface EffectRecord extends OperationRequest {
  readonly at: string
}

interface CarrierStats {
  readonly calls: number
  /** Changes of lines; `already` does not count. */
  readonly effects: number
  readonly byOperation: Readonly<Record<string, number>>
  readonly already: number
  /** Calls that got a remembered response, without a second effect. */
  readonly duplicates: number
  readonly refused: number
  readonly failed: number
  /** Effects beyond the first of one ticket. Anything but 0 is a defect of the carrier. */
  readonly doubleEffects: number
}

type Answer =
  | { readonly ticketId: string; readonly effect: Effect; readonly repeated: boolean }
  | { readonly code: string; readonly detail: string }

export interface CarrierBook {
  /**
   * Does an operation, unless this ticket already had a response. Resolves when the effect can no longer be forgotten.
   */
  readonly perform: (request: OperationRequest) => Promise<Answer>
  readonly noteFailure: (request: OperationRequest) => Promise<void>
  readonly stats: () => CarrierStats
  readonly effectsOf: (iccid: string | undefined) => readonly EffectRecord[]
  readonly close: () => Promise<void>
}

export async function openBook(file: string): Promise<CarrierBook> {
  const { journal, entries } = await openJournal(file)
  const lines = makeLines()
  const answers = new Map<string, { request: OperationRequest; effect: Effect; kept: Promise<void> }>()
  const effects: EffectRecord[] = []
  const counts: Record<Outcome, number> = { done: 0, already: 0, duplicate: 0, refused: 0, failed: 0 }

  const remember = (request: OperationRequest, outcome: Outcome, at: string, kept: Promise<void>) => {
    counts[outcome] += 1
    if (outcome === 'done' || outcome === 'already') answers.set(request.ticketId, { request, effect: outcome, kept })
    if (outcome !== 'done') return
    lines.apply(request)
    effects.push({ ...request, at })
  }
  const record = (request: OperationRequest, outcome: Outcome): Promise<void> => {
    const at = new Date().toISOString()
    const kept = journal.append({ at, outcome, ...request })
    remember(request, outcome, at, kept)
    return kept
  }
  for (const [index, entry] of entries.entries()) {
    if (!Value.Check(Entry, entry))
      throw new Error(`${file}, line ${index + 1} is no entry: move it away to begin anew`)
    const { at, outcome, ...request } = entry
    remember(request, outcome, at, Promise.resolve())
  }

  const perform = async (request: OperationRequest): Promise<Answer> => {
    const known = answers.get(request.ticketId)
    if (known !== undefined) {
      if (known.request.operation !== request.operation || known.request.iccid !== request.iccid) {
        await record(request, 'refused')
        const was = `${known.request.operation} of ${known.request.iccid}`
        return { code: 'ticket_reused', detail: `ticket ${request.ticketId} was for ${was}: use a ticket of its own` }
      }
      await Promise.all([known.kept, record(request, 'duplicate')])
      return { ticketId: request.ticketId, effect: known.effect, repeated: true }
    }
    const result = lines.check(request)
    if (!('effect' in result)) {
      await record(request, 'refused')
      return result
    }
    await record(request, result.effect)
    return { ticketId: request.ticketId, effect: result.effect, repeated: false }
  }

  return {
    perform,
    noteFailure: (request) => record(request, 'failed'),
    stats: () => statsOf(counts, effects),
    effectsOf: (iccid) => (iccid === undefined ? effects : effects.filter((effect) => effect.iccid === iccid)),
    close: journal.close,
  }
}

function statsOf(counts: Readonly<Record<Outcome, number>>, effects: readonly EffectRecord[]): CarrierStats {
  const byOperation: Record<string, number> = Object.fromEntries(OPERATIONS.map((operation) => [operation, 0]))
  for (const { operation } of effects) byOperation[operation] = (byOperation[operation] ?? 0) + 1
  return {
    calls: Object.values(counts).reduce((sum, count) => sum + count, 0),
    effects: effects.length,
    byOperation,
    already: counts.already,
    duplicates: counts.duplicate,
    refused: counts.refused,
    failed: counts.failed,
    doubleEffects: effects.length - new Set(effects.map(({ ticketId }) => ticketId)).size,
  }
}
