/** Checks the events of a timeline: each has one kind, and its subject exists. */
import { didYouMean } from '../../domain/did-you-mean.ts'
import { below, type Report } from '../load/faults.ts'
import type { Rule } from '../rule.ts'
import { EVENT_KINDS, type EventKind, type TimelineEvent, type TimelineTest } from './test-file.ts'

const KINDS = ['set', 'correct', 'use', 'device', 'stage', 'tickets'] as const satisfies readonly EventKind[]

export function checkEvents(test: TimelineTest, rules: readonly Rule[], at: string, report: Report): void {
  for (const [n, event] of (test.events ?? []).entries()) checkEvent(event, test, rules, `${at}/events/${n}`, report)
}

function checkEvent(
  event: TimelineEvent,
  test: TimelineTest,
  rules: readonly Rule[],
  pointer: string,
  report: Report,
): void {
  const [kind, ...others] = KINDS.filter((each) => event[each] !== undefined)
  if (kind === undefined || others.length > 0) {
    report(pointer, Object.keys(event).join(', '), `exactly one of ${KINDS.join(', ')}`)
    return
  }
  const fields: readonly string[] = EVENT_KINDS[kind]
  const given = Object.keys(event).filter((field) => field !== 'at' && field !== kind)
  for (const field of given.filter((each) => !fields.includes(each)))
    report(
      below(pointer, field),
      field,
      `beside ${kind} ${fields.length === 0 ? 'nothing' : `one of ${fields.join(', ')}`}`,
    )
  if (fields.length > 0 && given.length === 0)
    report(below(pointer, fields[0] ?? ''), undefined, `beside ${kind} one of ${fields.join(', ')}`)
  if (kind === 'tickets') return
  const name = event[kind] ?? ''
  const names = kind === 'stage' ? rules.map((rule) => rule.name) : namesFor(kind, test)
  if (names.includes(name)) {
    const isPool = kind === 'set' && Object.hasOwn(test.pools ?? {}, name)
    for (const field of ['exempt', 'status'] as const)
      if (isPool && event[field] !== undefined) report(below(pointer, field), field, 'a setting that pools have')
    return
  }
  report(
    below(pointer, kind),
    name,
    `the name of a ${kind === 'stage' ? 'rule of the file' : kind === 'set' ? 'SIM or pool of the test' : 'SIM of the test'}`,
    didYouMean(name, names),
  )
}

const namesFor = (kind: EventKind, { sims = {}, pools = {} }: TimelineTest): string[] => [
  ...Object.keys(sims),
  ...(kind === 'set' ? Object.keys(pools) : []),
]
