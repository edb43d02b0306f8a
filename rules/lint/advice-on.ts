/** Advice from experience about a rule: it reports too often, too early, or without details that people need. */

import { placeholdersOf } from '../alerts/message.ts'
import { factsRead, type Leaf, leavesAt, leavesOf } from '../conditions.ts'
import { ruleText } from '../diff-rules.ts'
import { factsOf, isMeasure } from '../facts.ts'
import { namesOf } from '../ladder.ts'
import { type For, forOf, type Rule } from '../rule.ts'
import { type Remark, rangeOf } from './check-ranges.ts'

const FORECASTS: readonly string[] = ['forecastPct', 'burnRatio', 'burnShortRatio', 'burnLongRatio']
const SPIKE = 'usageSpikeRatio'
/** Data used by a SIM: the least of it that makes a spike matter. */
const USED: readonly string[] = ['usage24hMB', 'usageTodayMB', 'usage7dMB', 'usageAvgDayMB', 'usageMB', 'usageCycleMB']
const SILENCES: readonly string[] = ['silentPct', 'hoursSinceLastSeen', 'neverSeen', 'usageAgeMinutes']
const FEED: readonly string[] = ['feedAgePct', 'feedAgeMinutes']
/** Facts about the length of the cycle, by which hours can be judged. */
const CYCLE: readonly string[] = ['cycleHours', 'daysUntilRenewal', 'hoursUntilRenewal']
/** A clear closer to the firing value than this share of it is crossed by noise. */
const NEAR = 0.05

/** Units of ages, in hours. An age of a day or more is meant, whatever the length of the cycle. */
const UNITS: Readonly<Record<string, number>> = { hours: 1, minutes: 1 / 60 }
const MEANT_HOURS = 24

export const adviceOn = (rule: Rule): Remark[] => [
  ...checkClear(rule),
  ...checkReturns(rule),
  ...checkEvidence(rule),
  ...checkTimes(rule),
  ...checkMessage(rule),
  ...checkSuspension(rule),
]

const isNone = (lasting: For): boolean => ('ms' in lasting ? lasting.ms === 0 : lasting.cyclePct === 0)

function checkClear({ subject, conditions, clear, keepFiring, event }: Rule): Remark[] {
  const facts = factsOf(subject)
  const thresholds = leavesOf(conditions).filter(
    ({ fact, value }) => typeof value === 'number' && facts.get(fact)?.codes === null,
  )
  if (clear === null) {
    const falling = thresholds.find(({ fact }) => facts.get(fact)?.monotone === false)
    if (event.params.once !== 'episode' || falling === undefined || !isNone(keepFiring)) return []
    const says = `${ruleText(falling)}: what hovers there begins and ends again and again; give it a clear or a keepFiring`
    return [{ pointer: '/event/params', code: 'no-clear', says }]
  }
  return leavesAt(clear, '/event/params/clear').flatMap(([leaf, pointer]): Remark[] => {
    const near = thresholds.find((other) => other.fact === leaf.fact && isNear(leaf, other))
    if (near === undefined || !isNone(keepFiring)) return []
    return [{ pointer, code: 'flappy', says: `clears at ${ruleText(leaf)}, and fires at ${ruleText(near)}` }]
  })
}

/** A rule told once a cycle is told again on each return after its reported end. */
function checkReturns({ subject, conditions, clear, keepFiring, event }: Rule): Remark[] {
  const { once, resolve } = event.params
  if (once !== 'cycle' || resolve === 'none' || clear !== null || !isNone(keepFiring)) return []
  const facts = factsOf(subject)
  const falling = leavesOf(conditions).find(({ fact: name }) => {
    const fact = facts.get(name)
    if (fact === undefined || !isMeasure(fact) || fact.monotone || fact.withTime === 'still') return false
    return !fact.cycleBound || FORECASTS.includes(name)
  })
  if (falling === undefined) return []
  const says = `${ruleText(falling)}: it may end and return, and each return is told again; "resolve": "none" tells the first only, a clear tells fewer`
  return [{ pointer: '/event/params', code: 'returns', says }]
}

/** Whether two comparisons look different ways from nearly the same number. */
function isNear(clear: Leaf, fires: Leaf): boolean {
  const [a, b] = [rangeOf(clear), rangeOf(fires)]
  if (a === undefined || b === undefined || typeof clear.value !== 'number' || typeof fires.value !== 'number')
    return false
  const looksDown = a.from === -Infinity && b.to === Infinity
  const looksUp = a.to === Infinity && b.from === -Infinity
  return (looksDown || looksUp) && Math.abs(clear.value - fires.value) < Math.abs(fires.value) * NEAR
}

function checkEvidence({ conditions }: Rule): Remark[] {
  const pointer = '/conditions'
  const read = new Set(factsRead(conditions))
  const forecast = FORECASTS.find((fact) => read.has(fact))
  const silence = leavesOf(conditions).find((leaf) => SILENCES.includes(leaf.fact) && isMetBySilence(leaf))?.fact
  const remarks: Remark[] = []
  if (forecast !== undefined && !read.has('elapsedPct')) {
    const says = `reads ${forecast} and not elapsedPct: early in a cycle little usage makes a large rate`
    remarks.push({ pointer, code: 'no-evidence', says })
  }
  if (read.has(SPIKE) && ![...read].some((fact) => USED.includes(fact))) {
    const says = `reads ${SPIKE} and no data used: of a SIM that uses next to nothing, a little is a large multiple`
    remarks.push({ pointer, code: 'no-evidence', says })
  }
  if (silence !== undefined && !FEED.some((fact) => read.has(fact))) {
    const says = `reads ${silence} and not feedAgePct: when no usage comes at all, every SIM looks silent`
    remarks.push({ pointer, code: 'feed-blind', says })
  }
  return remarks
}

/** Whether a comparison holds of a SIM that is silent for long. */
const isMetBySilence = (leaf: Leaf): boolean => (rangeOf(leaf)?.to ?? Infinity) === Infinity && leaf.value !== false

function checkTimes({ subject, conditions }: Rule): Remark[] {
  const facts = factsOf(subject)
  const read = factsRead(conditions)
  if (CYCLE.some((fact) => read.includes(fact))) return []
  return leavesAt(conditions, '/conditions').flatMap(([leaf, pointer]): Remark[] => {
    const { withTime, unit } = facts.get(leaf.fact) ?? {}
    const hours = withTime === 'ages' ? UNITS[unit ?? ''] : undefined
    if (hours === undefined || typeof leaf.value !== 'number' || leaf.value * hours >= MEANT_HOURS) return []
    const says = `${ruleText(leaf)}: the same as a share of the cycle holds for every cycle`
    return [{ pointer, code: 'absolute-time', says }]
  })
}

/** Only measures are required: if a yes or a code decided, the message itself implies it. */
function checkMessage({ subject, conditions, ladder, event }: Rule): Remark[] {
  const named = new Set(placeholdersOf(event.params.message).map((name) => namesOf(ladder)[name] ?? name))
  const read = factsRead(conditions).filter((name) => {
    const fact = factsOf(subject).get(name)
    return fact !== undefined && isMeasure(fact)
  })
  if (read.length === 0 || read.some((fact) => named.has(fact))) return []
  return [{ pointer: '/event/params/message', code: 'mute-message', says: `names none of ${read.join(', ')}` }]
}

function checkSuspension({ event, for: lasting }: Rule): Remark[] {
  const { actions, suspend, level } = event.params
  if (!actions.includes('suspend')) return []
  const pointer = '/event/params'
  if (level === 'Info')
    return [{ pointer, code: 'unguarded', says: 'suspends at level Info, of which people are not woken' }]
  const isAtOnce = isNone(lasting) && isNone(forOf(suspend?.grace ?? 'PT0S'))
  return isAtOnce ? [{ pointer, code: 'unguarded', says: 'suspends at once: one wrong record is enough' }] : []
}
