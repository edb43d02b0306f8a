/** The act on a version of the rules: put it in force. Of the version before the present one, this is a rollback. */
import { html } from 'hono/html'
import { counted } from '../../../domain/quantity.ts'
import type { ChangedRules } from '../../../domain/rules/rule-change.ts'
import type { VersionDifferences } from '../../../domain/rules/rule-difference.ts'
import type { Part } from '../../answers.ts'
import { type Act, actLinks, readNumber, textField } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { differencesPanel, versionPath } from './marks.ts'
import { activeVersion, type InForce, readDifferences, readRules, readVersion } from './read.ts'

interface Activation {
  readonly version: number
  readonly set: InForce
  /** How many it has. */
  readonly tests: number
  readonly differences: Part<VersionDifferences>
}

export const ACTIVATE: Act<Activation, number, ChangedRules> = {
  noun: 'rules/versions',
  name: 'activate',
  label: 'Activate',
  icon: 'check',
  tone: 'first',
  read: async (calls, version) => {
    const [set, differences, { tests }] = await Promise.all([
      readRules(calls),
      readDifferences(calls, version),
      readVersion(calls, version),
    ])
    return { version, set, differences, tests: tests.reduce((sum, { titles }) => sum + titles.length, 0) }
  },
  confirm: ({ version, set, differences, tests }) => {
    const active = activeVersion(set)
    const warning =
      version === active
        ? 'It is in force already.'
        : differences !== null && 'missing' in differences
          ? `It could not be compared, and may be refused. ${differences.missing}`
          : undefined
    return {
      of: `Version ${version}`,
      question: `Put version ${version} of the rules in force?`,
      facts: [
        ['In force now', active === 0 ? 'no version' : `version ${active}`],
        ['Then', 'Every SIM and pool of every tenant is judged by it, in some seconds. The operator is mailed.'],
        ['Alerts', 'Those of removed rules are withdrawn; the others go on, and none is mailed twice.'],
        ['SIMs', 'Those that are suspended stay suspended.'],
        [
          'Checked',
          `The examples of its rules${tests === 0 ? '' : ` and ${counted(tests, 'test')}`} passed when it was stored.`,
        ],
        ['Taken back', html`By <em>Roll back</em>, on the page of this version.`],
      ],
      ...(warning !== undefined && { warning }),
      isIdle: version === active,
      fields: (typed) => html`<input type="hidden" name="expect" value="${active}">
${textField({ name: 'reason', label: 'Reason', most: 500 }, typed)}`,
      below: html`${differencesPanel(differences)}`,
    }
  },
  send: ({ inside }, { version }, typed) => {
    const expect = readNumber(typed, 'expect', { from: 0, isRequired: true })
    const options = { params: { path: { version } }, body: { expect, reason: typed['reason'] ?? '' } }
    return inside.POST('/internal/rules/versions/{version}/activate', options)
  },
  done: 'It is in force: every tenant is judged by it in some seconds.',
}

/** Leads to the form that puts a version in force; from the one in force, the version before it. */
export function actsOn(tenantId: string, version: number, set: InForce): Html | '' {
  if (version !== activeVersion(set)) return actLinks(versionPath(tenantId, version), [ACTIVATE])
  if (set.previous === null) return ''
  const { name } = ACTIVATE
  const back = { name, label: `Roll back to version ${set.previous}`, icon: 'undo' } as const
  return actLinks(versionPath(tenantId, set.previous), [back])
}
