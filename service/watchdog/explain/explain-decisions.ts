/** Describes a decision about an alert, and the reasons that hold it back, in words. Pure. */
import { labelOf, WatchdogMode } from '../../../domain/codes.ts'
import { instant } from '../../../domain/local-time.ts'
import { duration } from '../../../domain/quantity.ts'
import type { Decision, DecisionKind } from '../../../domain/rules/explanation.ts'
import type { Grounds } from '../grounds.ts'

type More = Partial<Omit<Decision, 'what' | 'words'>>

const decision = (what: DecisionKind, words: string, more: More = {}): Decision => ({
  what,
  words,
  silenceId: null,
  holdId: null,
  by: null,
  until: null,
  ...more,
})

type At = (ms: number) => string

/** The decisions recorded in grounds. @param timeZone IANA name, for the instants shown */
export function decisionsOf(grounds: Grounds, timeZone: string): Decision[] {
  const { error } = grounds
  if (error !== null)
    return [decision('undecided', `The rule could not be decided, so its alert stays as it is: ${error}`)]
  const at = (ms: number) => instant(ms, timeZone)
  const { staleSince, reasons, stage, mode } = grounds
  const inMode = mode === null ? 'of a tenant' : `in mode ${labelOf(WatchdogMode, mode)}`
  return [
    staleSince === null
      ? null
      : decision(
          'stale',
          `The usage feed is stale since ${at(staleSince)}: the rule reads usage, so it neither fires nor resolves, and nothing is suspended or brought back.`,
        ),
    waits(grounds, at),
    told(grounds),
    ...held(grounds, at),
    reasons.includes('stage')
      ? decision('stage', `Its stage is ${stage}: it may not do all that the rule asks for.`)
      : null,
    reasons.includes('mode')
      ? decision('mode', `The watchdog is ${inMode} here: it only says what it would do.`)
      : null,
    acts(grounds),
  ].filter((one) => one !== null)
}

function waits({ phase, since, at: now, forMs, keepFiringMs, staleSince }: Grounds, at: At): Decision | null {
  if (phase !== 'pending' && phase !== 'recovering') return null
  const lasts = phase === 'pending' ? forMs : keepFiringMs
  const left = duration(Math.max(0, since + lasts - now))
  // While it stands still, its end is unknown.
  const until = staleSince === null ? { until: new Date(since + lasts).toISOString() } : {}
  const end = staleSince === null ? `, until ${at(since + lasts)}` : ', and that time stands still'
  const begun =
    phase === 'pending'
      ? `Its conditions hold since ${at(since)}; it fires when they have held for ${duration(lasts)}`
      : `Its conditions have ended at ${at(since)}; it goes on firing for ${duration(lasts)}`
  return decision(phase, `${begun}: ${left} are left${end}.`, until)
}

function told({ phase, tells, reasons }: Grounds): Decision | null {
  if (tells.log || tells.mail) {
    const where = [...(tells.log ? ['the log'] : []), ...(tells.mail ? ['the mail'] : [])].join(' and ')
    return decision('tells', `It is told to ${where}.`)
  }
  return phase === 'firing' && tells.before && reasons.includes('told')
    ? decision('toldBefore', 'It was told before, and is told once: there is nothing new to tell.')
    : null
}

function held({ reasons, quiet, guard }: Grounds, at: At): Decision[] {
  const found: Decision[] = []
  if (reasons.includes('silenced') && quiet?.reason === 'silenced') {
    const { silenceId, until } = quiet
    const words = `Silence ${silenceId} holds back its mails until ${at(until)}; what still fires then is mailed.`
    found.push(decision('silenced', words, { silenceId, until: new Date(until).toISOString() }))
  }
  if (reasons.includes('inhibited') && quiet?.reason === 'inhibited') {
    const words = `Rule ${quiet.by} fires and says more of the same: only that is mailed.`
    found.push(decision('inhibited', words, { by: quiet.by }))
  }
  if (reasons.includes('unsubscribed'))
    found.push(decision('unsubscribed', 'The tenant wants no mails of alerts of this level (`mailsFrom`).'))
  if (reasons.includes('held')) {
    const holdId = guard?.hold === 0 ? null : (guard?.hold ?? null)
    const which = holdId === null ? 'a hold' : `hold ${holdId}`
    const words =
      guard?.is === 'discarded'
        ? `A person has discarded ${which} of the guard: it is logged, and neither mailed nor acted on.`
        : `The guard keeps it in ${which}, because the rule fires for too many in an hour: it is logged, and neither mailed nor acted on until a person decides.`
    found.push(decision(guard?.is === 'discarded' ? 'discarded' : 'held', words, { holdId }))
  }
  return found
}

/** The requests to enforcement. */
function acts({ wish, suspend, enforcementEnabled, phase }: Grounds): Decision | null {
  if (wish !== 'over' || suspend === null || suspend === 'no' || phase !== 'firing') return null
  if (suspend === 'would') return decision('wouldSuspend', 'It suspends nobody, and logs who would be suspended.')
  if (enforcementEnabled) return decision('suspends', 'It asks for the suspension.')
  const words = 'Enforcement is switched off for the tenant: it suspends nobody, and logs who would be suspended.'
  return decision('enforcementOff', words)
}

/** The cycle has not begun for the watchdog. */
export const notOpen = (key: string): Decision =>
  decision(
    'notOpen',
    `Billing cycle ${key} has not been opened yet: there is no usage to judge by until the next sweep.`,
  )

/** The latest evaluation failed. */
export const postponed = (): Decision =>
  decision('postponed', 'The latest evaluation of the subject failed; it is tried again by itself within an hour.')
