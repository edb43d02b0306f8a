/** The frame of every page, and how a page is sent. */
import type { FastifyReply } from 'fastify'
import { html } from 'hono/html'
import { type Caller, callerIn, type Session } from '../../domain/tenants/session.ts'
import { FIND_SCRIPT, ICON, LIVE_SCRIPTS, STYLE } from './asset.ts'
import type { Html } from './html.ts'
import { type IconName, icon } from './icon.ts'

/** The tenant that a page is about. */
export interface PageTenant {
  readonly id: string
  readonly name: string
}

interface Page {
  readonly title: string
  /** Has the only `h1`. */
  readonly main: Html
  /** Null: it shows no session. Default: the one of its request. */
  readonly session?: Session | null
  readonly tenant?: PageTenant
  /** The path of the page in the navigation; empty for the overview. */
  readonly current?: string
  /** Text in the field that finds. */
  readonly find?: string
  /** Whether a tenant's page is read again when something has changed. Default: yes. */
  readonly isLive?: boolean
}

export const sendPage = async (reply: FastifyReply, page: Page): Promise<FastifyReply> =>
  reply.type('text/html; charset=utf-8').send(String(await frame({ session: reply.request.session, ...page })))

const frame = ({ title, main, session = null, tenant, current, find, isLive = true }: Page): Html => {
  const caller = session === null ? 'contact' : callerIn(session)
  const isOperator = caller === 'operator'
  // The status, whose version a pulse is, and finding are for operators.
  const pulse = isLive && tenant !== undefined && isOperator ? `/t/${tenant.id}/pulse` : undefined
  const scripts = [
    ...(isOperator && tenant !== undefined ? [FIND_SCRIPT] : []),
    ...(pulse === undefined ? [] : LIVE_SCRIPTS),
  ]
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · ${tenant === undefined ? '' : `${tenant.name} · `}Simherd</title>
<link rel="icon" href="${ICON.path}">
<link rel="stylesheet" href="${STYLE.path}">
${scripts.map(
  ({ path }) => html`<script src="${path}" defer></script>
`,
)}
</head>
<body${pulse === undefined ? '' : html` data-pulse="${pulse}"`}>
<a class="skip" href="#main">Skip to the page</a>
<header class="bar">
<a class="brand" href="/">${icon('signal')} Simherd</a>
${tenant === undefined ? '' : html`<span class="of"><bdi>${tenant.name}</bdi></span>`}
${tenant === undefined || !isOperator ? '' : finder(tenant, find)}
${pulse === undefined ? '' : html`<span id="live" class="live" role="status"></span>`}
${session === null ? '' : account(session)}
</header>
<div class="${tenant === undefined ? 'alone' : 'beside'}">
${tenant === undefined ? '' : navigation(tenant, caller, current)}
<main id="main" tabindex="-1">
${main}
</main>
</div>
</body>
</html>`
}

const finder = ({ id }: PageTenant, typed = ''): Html => html`<form class="find" method="get" action="/t/${id}/find">
<label><span class="hidden">Find</span>
<input type="search" id="find" name="q" value="${typed}" maxlength="300" required placeholder="Find ICCID, tag, pool, id" aria-keyshortcuts="/"></label>
<button type="submit">${icon('search')}<span class="hidden">Find</span></button>
</form>`

const account = ({ keyName, contact }: Session): Html => html`<form class="account" method="post" action="/sign-out">
<span class="who wide">${contact === null ? 'Key ' : ''}<bdi>${contact ?? keyName}</bdi></span>
<button type="submit">${icon('leave')} <span>Sign out</span></button>
</form>`

const OPERATORS: readonly Caller[] = ['operator']
const KEYS: readonly Caller[] = ['operator', 'key']
const CONTACTS: readonly Caller[] = ['contact']

interface Line {
  readonly path: string
  readonly name: string
  readonly icon: IconName
  readonly isFor: readonly Caller[]
}
interface Group {
  readonly name: string
  readonly pages: readonly Line[]
}

/**
 * The pages of a tenant in groups, and the callers that the interface lets see them. A page that is not there yet has
 * no line.
 */
const GROUPS: readonly Group[] = [
  {
    name: 'Now',
    pages: [
      { path: '', name: 'Overview', icon: 'overview', isFor: KEYS },
      { path: 'alerts', name: 'Alerts', icon: 'bell', isFor: OPERATORS },
      { path: 'enforcement', name: 'Enforcement', icon: 'enforcement', isFor: OPERATORS },
      { path: 'silences', name: 'Silences', icon: 'silence', isFor: OPERATORS },
      { path: 'workflows', name: 'Workflows', icon: 'workflow', isFor: OPERATORS },
    ],
  },
  {
    name: 'Estate',
    pages: [
      { path: 'sims', name: 'SIMs', icon: 'sim', isFor: KEYS },
      { path: 'pools', name: 'Pools', icon: 'pool', isFor: KEYS },
      { path: 'tickets', name: 'Tickets', icon: 'ticket', isFor: OPERATORS },
      { path: 'orders', name: 'Orders', icon: 'order', isFor: KEYS },
    ],
  },
  {
    name: 'Rules',
    pages: [
      { path: 'rules', name: 'Rules', icon: 'rule', isFor: OPERATORS },
      { path: 'backtests', name: 'Backtests', icon: 'backtest', isFor: OPERATORS },
      { path: 'shadow-log', name: 'Shadow log', icon: 'shadow', isFor: OPERATORS },
    ],
  },
  {
    name: 'Costs',
    pages: [
      { path: 'month', name: 'Month end', icon: 'monthEnd', isFor: OPERATORS },
      { path: 'my', name: 'My month', icon: 'month', isFor: [...KEYS, ...CONTACTS] },
      { path: 'tariffs', name: 'Tariffs', icon: 'tariff', isFor: KEYS },
      { path: 'my/alerts', name: 'Alerts', icon: 'bell', isFor: CONTACTS },
      { path: 'my/statements', name: 'Statements', icon: 'statement', isFor: CONTACTS },
      { path: 'my/settings', name: 'Settings', icon: 'settings', isFor: CONTACTS },
    ],
  },
  {
    name: 'Mails',
    pages: [
      { path: 'mails', name: 'Mails', icon: 'mail', isFor: OPERATORS },
      { path: 'addresses', name: 'Addresses', icon: 'address', isFor: KEYS },
      { path: 'webhooks', name: 'Webhooks', icon: 'webhook', isFor: OPERATORS },
    ],
  },
  {
    name: 'Tenant',
    pages: [
      { path: 'keys', name: 'Keys', icon: 'key', isFor: OPERATORS },
      { path: 'people', name: 'People', icon: 'people', isFor: OPERATORS },
      { path: 'audit', name: 'Audit trail', icon: 'audit', isFor: OPERATORS },
      { path: 'settings', name: 'Settings', icon: 'settings', isFor: KEYS },
    ],
  },
]
const PAGES = GROUPS.flatMap(({ pages }) => pages)

function navigation({ id }: PageTenant, caller: Caller, current?: string): Html {
  const seen = PAGES.filter(({ isFor }) => isFor.includes(caller))
  // A page without a line belongs to the one above it.
  const here = seen.findLast(({ path }) => current === path || current?.startsWith(`${path}/`))
  const groups = GROUPS.map(({ name, pages }) => ({ name, pages: pages.filter((page) => seen.includes(page)) }))
  return html`<details class="menu">
<summary>${icon('menu')} Pages</summary>
<nav aria-label="Pages">
${groups
  .filter(({ pages }) => pages.length > 0)
  .map(
    ({ name, pages }) => html`<p id="pages-${name}" class="group">${name}</p>
<ul aria-labelledby="pages-${name}">
${pages.map(
  (
    page,
  ) => html`<li><a href="/t/${id}${page.path === '' ? '' : `/${page.path}`}"${here === page ? html` aria-current="page"` : ''}>
${icon(page.icon)} ${page.name}</a></li>`,
)}
</ul>`,
  )}
</nav>
</details>`
}
