/** The page of a version of the rules: its state, what it changes, its history, its files. */
import { html } from 'hono/html'
import { type Static, Type } from 'typebox'
import { count, counted } from '../../../domain/quantity.ts'
import { tryAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { Done } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { linkTo } from '../../parts/list.ts'
import { panel, panelOf } from '../../parts/marks.ts'
import type { PageTenant } from '../../parts/page.ts'
import { actsOn } from './acts.ts'
import { changeTable, differencesPanel, sourceText, testsPanel, versionPath } from './marks.ts'
import { type InForce, type RuleVersion, readDifferences, readRules, readVersion } from './read.ts'

export const VersionQuery = Type.Object({ ...Done.properties, file: Type.Optional(Type.String({ maxLength: 300 })) })
export type VersionQuery = Static<typeof VersionQuery>

const MOST_CHANGES = 20
/** Characters of files that a page shows all at once; else one at a time. */
const MOST_TEXT = 60_000

/** @param said notice of an act just before @throws ServiceError `rules_version_not_found`, `forbidden` */
export async function versionPage(
  calls: Calls,
  { id: tenantId }: PageTenant,
  version: number,
  { file, now, said }: { readonly file?: string; readonly now: number; readonly said: Html | '' },
): Promise<Html> {
  const query = { version, pageSize: MOST_CHANGES }
  const [found, set, differences, history] = await Promise.all([
    readVersion(calls, version),
    readRules(calls),
    readDifferences(calls, version),
    tryAnswer(calls.inside.GET('/internal/rules/versions', { params: { query } })),
  ])
  return html`<div class="head">
<div>
<p class="crumbs"><a href="/t/${tenantId}/rules">Rules</a></p>
<h1>Version ${version} ${stateBadge(found, set)}</h1>
<p class="lead">By <bdi>${found.author}</bdi>${found.reason === null ? '' : html`: <bdi>${found.reason}</bdi>`}</p>
</div>
${actsOn(tenantId, version, set)}
</div>
${said}
${differencesPanel(differences)}
${panelOf({ title: 'History', id: 'history', note: 'newest first' }, history, ({ data }) => changeTable(tenantId, data, now))}
${testsPanel(versionPath(tenantId, version), found.tests)}
${panel({ title: 'Files', id: 'files', note: counted(found.files.length, 'file') }, fileList(versionPath(tenantId, version), found, file))}`
}

/** Whether a version is in force now, was so before, or never. */
function stateBadge({ version, activatedAt }: RuleVersion, { version: inForce, refused }: InForce): Html {
  if (version === refused?.version) return html`<span class="badge critical">Refused by this build</span>`
  if (version === inForce) return html`<span class="badge good">In force</span>`
  return html`<span class="badge quiet">${activatedAt === null ? 'Never in force' : 'Was in force'}</span>`
}

function fileList(path: string, { files }: RuleVersion, asked: string | undefined): Html {
  const isSmall = files.reduce((sum, { text }) => sum + text.length, 0) <= MOST_TEXT
  return html`${files.map((one) =>
    isSmall || one.file === asked
      ? html`<details${one.file === asked ? html` open` : ''}><summary><bdi>${one.file}</bdi></summary>
${sourceText(one)}</details>`
      : html`<p><a href="${linkTo(path, { file: one.file })}"><bdi>${one.file}</bdi></a> <span class="mute">${count(one.text.length)} characters</span></p>`,
  )}`
}
