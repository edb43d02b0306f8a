/** Explanations of rules, as text. */
import type { ExplainedRule, Explanation } from '../../domain/rules/explanation.ts'
import { at } from '../instant.ts'

/** An explanation as text. */
export function explained({ subject, at: when, cycle, entry, note, rules }: Explanation): string[] {
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
  const { alert, followed } = one
  const parts: Readonly<Record<string, readonly string[]>> = {
    because: one.misfits.map(({ words }) => words),
    compares: one.leaves.map(markedLeaf),
    clear: one.clearLeaves.map(markedLeaf),
    nearest: one.nearest.map(({ words }) => words),
    decided: one.decisions.map(({ words }) => words),
    alert: alert === null ? [] : [`${alert.phase} since ${at(alert.since)}, changed last ${at(alert.changedAt)}`],
    entries: followed.entries.map(({ id, date, message }) => `${id} ${at(date)} ${message}`),
    mails: followed.mails.map(({ id, status, at: when, recipient }) =>
      `${status} ${at(when)} ${recipient ?? ''} ${id ?? ''}`.trimEnd(),
    ),
    tickets: followed.tickets.map(({ id, type, status, simId }) => `${id} ${type} of SIM ${simId}: ${status}`),
    workflows: followed.workflows.map(({ id, state, at: when }) => `${id} ${state} ${at(when)}`),
    holds: followed.holds.map(({ id, state }) => `${id} ${state}: npx simherd enforcement show`),
  }
  return [
    `${one.rule}${version}${stage}: ${standing(one)}`,
    ...Object.entries(parts).flatMap(([title, lines]) =>
      lines.map((line, n) => `  ${(n === 0 ? title : '').padEnd(9)} ${line}`),
    ),
  ]
}

const markedLeaf = ({ words, result }: ExplainedRule['leaves'][number]): string =>
  `${MARKS[String(result)] ?? ' '} ${words}`

const MARKS: Readonly<Record<string, string>> = { true: '✓', false: '✗', null: '?' }

function standing({ isAttached, isMet, phase, since }: ExplainedRule): string {
  if (!isAttached) return 'not attached'
  const met = isMet === null ? 'not decided' : isMet ? 'holds' : 'does not hold'
  return phase === null || phase === 'inactive' || since === null ? met : `${met}, ${phase} since ${at(since)}`
}
