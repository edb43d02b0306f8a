/**
 * Checks whether the fields of a SIM taken over from the carrier agree with each other. Pure. Faults name the field,
 * its value and the expected one.
 */
import { SimStatus } from '../../domain/codes.ts'
import { ifDayZero } from '../../domain/files/spreadsheet.ts'
import { instantMs } from '../../domain/instant.ts'
import type { ImportedSim } from '../../domain/sims/sim-import.ts'

/** Something that looks wrong about a SIM. The SIM is written all the same. */
export interface SimWarning {
  readonly field: keyof ImportedSim
  readonly detail: string
}

/** The year of the first SIMs, in epoch milliseconds. */
const FIRST_SIM_MS = Date.UTC(1991, 0)

/** Fields that only a provisioned SIM has. */
const PLACE = ['poolId', 'tariffId', 'activatedAt'] as const
/** Usage in the running cycle. 0 is none. */
export const USAGE = ['usageBytes', 'voiceSeconds', 'smsCount'] as const

export const statusOf = ({ status }: ImportedSim): SimStatus => status ?? SimStatus.Unprovisioned

/** Since when a SIM is Active, or was before it was suspended, in epoch milliseconds; undefined if it never was. */
export const activatedMs = ({ activatedAt }: ImportedSim): number | undefined =>
  activatedAt == null ? undefined : instantMs(activatedAt)

/** Whether a SIM has used anything in the running cycle. */
export const hasUsage = (sim: ImportedSim): boolean => USAGE.some((name) => (sim[name] ?? 0) > 0)

/**
 * Why a SIM cannot be taken over in this state. Empty if it can. Each field by itself is right.
 *
 * @param now epoch milliseconds
 */
export function stateFaults(sim: ImportedSim, now: number): string[] {
  switch (statusOf(sim)) {
    case SimStatus.Unprovisioned:
      return [...PLACE.flatMap((name) => unexpected(sim, name)), ...usageFaults(sim, 'status 1 or 2')]
    case SimStatus.Active:
      return activationFaults(sim, now)
    case SimStatus.Suspended:
      if (sim.activatedAt != null) return activationFaults(sim, now)
      return usageFaults(sim, 'the activatedAt from before it was suspended')
  }
}

function unexpected(sim: ImportedSim, name: (typeof PLACE)[number]): string[] {
  if (sim[name] == null) return []
  return [`${name}: got ${JSON.stringify(sim[name])} of an Unprovisioned SIM; expected none, or status 1 or 2`]
}

function activationFaults({ activatedAt }: ImportedSim, now: number): string[] {
  if (activatedAt == null) {
    return ['activatedAt: is missing; expected since when the SIM is Active, ISO 8601 with an offset or Z']
  }
  const at = instantMs(activatedAt) ?? now
  const got = `activatedAt: got ${JSON.stringify(activatedAt)}`
  if (at < FIRST_SIM_MS)
    return [`${got}${ifDayZero(activatedAt)}; expected 1991 or later, as there were no SIMs before`]
  return at <= now ? [] : [`${got}; expected no later than now, ${new Date(now).toISOString()}`]
}

const usageFaults = (sim: ImportedSim, orElse: string): string[] =>
  USAGE.flatMap((name) =>
    (sim[name] ?? 0) > 0
      ? [`${name}: got ${sim[name]} of a SIM that never was Active; expected none or 0, or ${orElse}`]
      : [],
  )

/** Warns of an Active SIM that nothing is charged for. */
export function stateWarnings(sim: ImportedSim): SimWarning[] {
  if (statusOf(sim) !== SimStatus.Active || sim.poolId != null || sim.tariffId != null) return []
  const detail =
    'the SIM is Active with neither poolId nor tariffId: it has no allowance, and nothing is charged for it'
  return [{ field: 'poolId', detail }]
}
