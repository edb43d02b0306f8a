/** `simherd rules explain`: why rules fired, or did not. */

import type { ExplainedRule, Explanation } from '../../domain/rules/explanation.ts'
import type { Settings } from '../../process/settings.ts'
import { askService } from '../ask-service.ts'
import { at } from '../instant.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import type { CheckFlags } from './check.ts'

interface ExplainFlags extends CheckFlags {
  readonly tenant: string
  readonly entry?: number
  readonly sim?: number
  readonly pool?: number
  readonly rule?: string
}

/** Explains an entry of the log, a SIM, a pool, or the tenant itself. */
export function explainRules(settings: Settings, flags: ExplainFlags): Promise<void> {
  const { tenant: tenantId, entry, sim, pool, rule, output } = flags
  return askService({ settings, tenantId }, async (service) => {
    const query = {
      ...(entry !== undefined && { entryId: entry }),
      ...(sim !== undefined && { simId: sim }),
      ...(pool !== undefined && { poolId: pool }),
      ...(rule !== undefined && { rule }),
    }
    const found = await responseOf(service.GET('/internal/rules/explain', { params: { query } }))
    if (output === 'json') return print(JSON.stringify(found, null, 2))
    for (const line of explained(found)) print(line)
  })
}

/** An explanation as text. */
function explained({ subject, at: when, cycle, entry, note, rules }: Explanation): string[] {
  const whom =
    subject.kind === 'tenant' ? `tenant ${subject.label}` : `${subject.kind} ${subject.id} (${subject.label})`
  return [
    `${whom} at ${at(when)}${cycle === null ? '' : `, cycle ${cycle}`}`,
    ...(entry === null ? [] : [`entry ${entry.id}: ${entry.message}`]),
    ...(note === null ? [] : [note]),
    ...rules.flatMap((rule) => ['', ...ruleLines(rule)]),
    ...(rules.length === 0 && entry === null ? ['no rule is about subjects of this kind'] : []),
  ]
}

function ruleLines(one: ExplainedRule): string[] {
  const version = one.version === null ? '' : `, version ${one.version}`
  const stage = one.stage === null ? '' : `, stage ${one.stage}`
  const part = (title: string, lines: readonly string[]) =>
    lines.map((line, n) => `  ${n === 0 ? title.padEnd(9) : ' '.repeat(9)} ${line}`)
  return [
    `${one.rule}${version}${stage}: ${standing(one)}`,
    ...part(
      'because',
      one.misfits.map(({ words }) => words),
    ),
    ...part(
      'compares',
      one.leaves.map(({ words, result }) => `${MARKS[String(result)] ?? ' '} ${words}`),
    ),
    ...part(
      'clear',
      one.clearLeaves.map(({ words, result }) => `${MARKS[String(result)] ?? ' '} ${words}`),
    ),
    ...part(
      'nearest',
      one.nearest.map(({ words }) => words),
    ),
    ...part(
      'decided',
      one.decisions.map(({ words }) => words),
    ),
    ...part(
      'alert',
      one.alert === null
        ? []
        : [`${one.alert.phase} since ${at(one.alert.since)}, changed last ${at(one.alert.changedAt)}`],
    ),
    ...part(
      'entries',
      one.followed.entries.map(({ id, date, message }) => `${id} ${at(date)} ${message}`),
    ),
    ...part(
      'mails',
      one.followed.mails.map(({ id, status, at: when, recipient }) =>
        `${status} ${at(when)} ${recipient ?? ''} ${id ?? ''}`.trimEnd(),
      ),
    ),
    ...part(
      'tickets',
      one.followed.tickets.map(({ id, type, status, simId }) => `${id} ${type} of SIM ${simId}: ${status}`),
    ),
    ...part(
      'workflows',
      one.followed.workflows.map(({ id, state, at: when }) => `${id} ${state} ${at(when)}`),
    ),
    ...part(
      'holds',
      one.followed.holds.map(({ id, state }) => `${id} ${state}: npx simherd enforcement show`),
    ),
  ]
}

const MARKS: Readonly<Record<string, string>> = { true: '✓', false: '✗', null: '?' }

function standing({ isAttached, isMet, phase, since }: ExplainedRule): string {
  if (!isAttached) return 'not attached'
  const met = isMet === null ? 'not decided' : isMet ? 'holds' : 'does not hold'
  return phase === null || phase === 'inactive' || since === null ? met : `${met}, ${phase} since ${at(since)}`
}
