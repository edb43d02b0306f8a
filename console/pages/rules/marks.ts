/** Words and marks of rules and their versions, for the pages about them. */
import { html } from 'hono/html'
import { count, counted } from '../../../domain/quantity.ts'
import type { RuleChange } from '../../../domain/rules/rule-change.ts'
import type { VersionDifferences } from '../../../domain/rules/rule-difference.ts'
import type { Part } from '../../answers.ts'
import type { Html } from '../../parts/html.ts'
import { linkTo } from '../../parts/list.ts'
import { ago, facts, line, panel, panelOf, textBox } from '../../parts/marks.ts'
import type { RuleInForce, RuleVersion } from './read.ts'

type Stage = RuleInForce['stage']

/** Source: docs/rules.md, "Stages and modes". */
export const STAGE_WORDS: Readonly<Record<Stage, string>> = {
  off: 'it decides nothing',
  shadow: 'it is decided as usual, and shown to the operator alone',
  log: 'it logs, and names whom it would suspend',
  notify: 'it logs and mails, and names whom it would suspend',
  enforce: 'it logs, mails and suspends, as its actions and the mode of its subject allow',
}
export const stageBadge = (stage: Stage): Html =>
  html`<span class="badge ${stage === 'enforce' ? 'good' : 'quiet'}">${stage}</span>`

/** By kind of subject. */
export const SUBJECTS: Readonly<Record<RuleInForce['subject'], string>> = {
  sim: 'SIMs',
  pool: 'Pools',
  tenant: 'Tenants',
  tag: 'Tags',
}

export const versionPath = (tenantId: string, version: number): string => `/t/${tenantId}/rules/versions/${version}`
export const versionLink = (tenantId: string, version: number): Html =>
  html`<a href="${versionPath(tenantId, version)}">Version ${version}</a>`

const CHANGES: Readonly<Record<RuleChange['change'], string>> = { pushed: 'pushed', activated: 'put in force' }

/** The author as given, and the key if it has another name. */
export const authorWords = ({ author, actorName }: RuleChange): Html =>
  html`<bdi>${author}</bdi>${actorName === null || actorName === author ? '' : html`<small>key <bdi>${actorName}</bdi></small>`}`

export const reasonWords = (reason: string | null): Html =>
  reason === null ? html`<span class="mute">not given</span>` : html`<bdi>${reason}</bdi>`

export const changeTable = (tenantId: string, changes: readonly RuleChange[], now: number): Html => html`<table>
<thead><tr><th scope="col">Version</th><th scope="col" class="wide">Reason</th><th scope="col">Author</th><th scope="col" class="number">When</th></tr></thead>
<tbody>
${changes.map(
  (change) => html`<tr>
<th scope="row">${versionLink(tenantId, change.version)}<small>${CHANGES[change.change]}</small></th>
<td class="wide">${reasonWords(change.reason)}</td>
<td>${authorWords(change)}</td>
<td class="number">${ago(change.at, now)}</td>
</tr>`,
)}
</tbody>
</table>`

/** What a version changes, by meaning. */
export const differencesPanel = (differences: Part<VersionDifferences>): Html | '' =>
  panelOf({ title: 'Differences', id: 'differences', note: 'by meaning' }, differences, ({ since, changes }) => {
    const other = since === null ? 'no rules at all' : `version ${since}`
    return html`<p>Rules that differ from ${other}: ${changes.length === 0 ? 'none' : count(changes.length)}.</p>
${changes.map((rule) => {
  const rows = rule.differences.map(({ field, before, after }): readonly [string, Html] => [
    field,
    html`<span class="reasons">${said('Before', before)}${said('After', after)}</span>`,
  ])
  return html`<h3><bdi>${rule.name}</bdi> <span class="badge quiet">${rule.change}</span></h3>
${rows.length === 0 ? '' : facts(rows)}`
})}`
  })

const said = (when: string, statements: readonly string[]): Html =>
  html`<span><span class="mute">${when}</span> ${statements.length === 0 ? 'none' : html`<bdi>${statements.join('; ')}</bdi>`}</span>`

/** Test files that a page shows, and titles of each. */
const MOST_TEST_FILES = 20
const MOST_TITLES = 10

/** Tests of a version, by file. @param path of the page of the version */
export function testsPanel(path: string, tests: RuleVersion['tests']): Html {
  const row = ({ file, titles }: RuleVersion['tests'][number]) => {
    const more = titles.length - MOST_TITLES
    const words = [...titles.slice(0, MOST_TITLES), ...(more > 0 ? [`${count(more)} more`] : [])]
    return line(
      'check',
      html`<a href="${linkTo(path, { file })}"><bdi>${file}</bdi></a>${words.map((title) => html`<small><bdi>${title}</bdi></small>`)}`,
      counted(titles.length, 'test'),
    )
  }
  const more = tests.length - MOST_TEST_FILES
  return panel(
    { title: 'Tests', id: 'tests', note: 'passed when they were stored' },
    tests.length === 0
      ? html`<p class="empty">None.</p>`
      : html`<ul class="log">${tests.slice(0, MOST_TEST_FILES).map(row)}</ul>${more <= 0 ? '' : html`<p>and ${counted(more, 'test file')} more</p>`}`,
  )
}

/** The text of a file, in a box of its own. */
export const sourceText = ({ file, text }: RuleVersion['files'][number]): Html => textBox(`Text of ${file}`, text)
