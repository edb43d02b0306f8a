/** Renders notices to the operator of the installation as a mail. Pure. */
import Handlebars from 'handlebars'
import { withoutSlash } from '../../../domain/http.ts'
import type { CountedNotice, OperatorNotice, RulesChanged } from '../../../domain/notifications/operator-notice.ts'
import { counted } from '../../../domain/quantity.ts'
import { capital } from '../../../domain/text.ts'
import { oneLine, shortenLabel } from './format.ts'
import type { Mail } from './render-mail.ts'

const SUBJECT_CHARS = 120
/** Of a server's reply, an error or a name. */
const TEXT_CHARS = 500
/** Rules named in a notice: as many as a person will read. */
const RULES_NAMED = 20
/** Notices of a kind shown in full. If many mails are given up, they mostly have one cause. */
const SHOWN = 5

/** The kinds in the order of a mail: the most urgent repairs first. */
const KINDS: readonly OperatorNotice['kind'][] = [
  'carrierRefuses',
  'decisionNeeded',
  'rulesRefused',
  'ruleUndecidable',
  'addressRefused',
  'mailGivenUp',
  'rulesChanged',
]

interface NoticeView {
  /** Without a full stop. */
  readonly title: string
  readonly lines: readonly string[]
}

/**
 * Renders one mail of some notices.
 *
 * @param consoleUrl address of the console, where a decision has a page; empty: none
 * @throws Error if there is no notice
 */
export function renderOperatorMail(notices: readonly CountedNotice[], consoleUrl = ''): Mail {
  const views = KINDS.flatMap((kind) =>
    viewsOf(
      notices.filter(({ body }) => body.kind === kind),
      consoleUrl,
    ),
  )
  const [first] = views
  if (first === undefined) throw new Error('a mail to the operator has at least one notice')
  const also = notices.length === 1 ? '' : `, and ${counted(notices.length - 1, 'other notice')}`
  const text = views.map(({ title, lines }) => [title, ...lines.map((line) => `  ${line}`)].join('\n'))
  return {
    subject: `${shortenLabel(`[Simherd] ${first.title}`, SUBJECT_CHARS - also.length)}${also}`,
    text: `${[...text, `-- \n${FOOT}`].join('\n\n')}\n`,
    html: html({ views, foot: FOOT }),
    headers: {},
  }
}

const FOOT = 'Simherd, for the operator of the installation (OPERATOR_EMAIL)'

const html = Handlebars.compile<{ readonly views: readonly NoticeView[]; readonly foot: string }>(
  [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">',
    '<style>:root { color-scheme: light dark; } body { max-width: 600px; margin: 0 auto; padding: 16px; ',
    "font: 15px/1.5 -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif; overflow-wrap: anywhere; }",
    ' h3 { margin: 20px 0 4px; } p { margin: 0 0 4px; }</style></head><body>',
    '{{#each views}}<h3>{{title}}</h3>{{#each lines}}<p>{{this}}</p>{{/each}}{{/each}}',
    '<hr><p>{{foot}}</p></body></html>',
  ].join(''),
  { strict: true },
)

/** Views of notices of one kind. */
function viewsOf(notices: readonly CountedNotice[], consoleUrl: string): NoticeView[] {
  const left = notices.length - SHOWN
  const views = notices.slice(0, SHOWN).map((notice) => viewOf(notice, consoleUrl))
  return left <= 0 ? views : [...views, { title: `${counted(left, 'more notice')} of this kind`, lines: [] }]
}

const words = (text: string): string => shortenLabel(oneLine(text), TEXT_CHARS)
const nameOf = ({ tenant }: CountedNotice): string => (tenant === null ? '' : `${words(tenant.name)} (${tenant.id})`)

function viewOf(notice: CountedNotice, consoleUrl: string): NoticeView {
  const { body, count, tenant } = notice
  switch (body.kind) {
    case 'carrierRefuses':
      return {
        title: 'The carrier refuses the credentials',
        lines: [
          `${words(body.answer)}.`,
          `Since ${body.since} all tickets wait, but one at a time that is sent to see. None uses up an attempt.`,
          'Give the workers the right CARRIER_SECRET and start them again. If the carrier accepts the old one again, tickets go on by themselves.',
        ],
      }
    case 'decisionNeeded': {
      const command = (name: string) => `npx simherd enforcement ${name} ${body.holdId} --tenant ${tenant?.id}`
      const where = `${body.pool === null ? '' : `pool ${words(body.pool)} of `}${nameOf(notice)}`
      return {
        title: `Decision needed: ${body.what} of rule ${words(body.rule)} held`,
        lines: [
          `In ${where}: more than the guard lets through in an hour. Without a decision the hold lapses at ${body.until}.`,
          ...(consoleUrl === ''
            ? []
            : [`Decide in the console: ${withoutSlash(consoleUrl)}/t/${tenant?.id}/decisions/${body.holdId}`]),
          `What waits: npx simherd enforcement show --tenant ${tenant?.id}`,
          `Where they are right: ${command('release')}`,
          `Where they are not: ${command('discard')}`,
        ],
      }
    }
    case 'rulesRefused':
      return {
        title: `Rules version ${body.version} refused by build ${words(body.build)}`,
        lines: [
          words(body.reason),
          `${capital(words(body.instead))}.`,
          'Load a set that all builds at work accept (npx simherd rules load). Until then /readyz of these processes is 503.',
        ],
      }
    case 'rulesChanged':
      return {
        title: `Rules version ${body.version} in force`,
        lines: [
          `Loaded by ${words(body.author)}${body.actor === null ? '' : ` (${words(body.actor)})`}.`,
          ...changesOf(body),
        ],
      }
    case 'ruleUndecidable':
      return {
        title: `Rule ${words(body.rule)} cannot be decided`,
        lines: [
          `${nameOf(notice)}, version ${body.version}: ${counted(count, 'subject')} so far. Their alerts stay as they are: nobody is suspended or brought back.`,
          `One example: ${words(body.error)}`,
        ],
      }
    case 'mailGivenUp':
      return {
        title: `Mail given up: ${words(body.subject)}`,
        lines: [
          `${nameOf(notice)}, to ${words(body.recipient)}: ${words(body.response)}`,
          `To try it again: npx simherd mails retry '${body.mailId}' --tenant ${tenant?.id}`,
        ],
      }
    case 'addressRefused':
      return {
        title: `Address refused: ${words(body.recipient)}`,
        lines: [
          `${nameOf(notice)}: ${counted(count, 'mail')} given up. The server: ${words(body.response)}`,
          'Give the tenant another address: mails of the last 30 days that were given up then go there.',
        ],
      }
  }
}

function changesOf({ added, changed, removed }: RulesChanged): string[] {
  const named = (label: string, rules: readonly string[]) => {
    if (rules.length === 0) return []
    const more = rules.length > RULES_NAMED ? `, and ${rules.length - RULES_NAMED} more` : ''
    return [`${label}: ${rules.slice(0, RULES_NAMED).map(words).join(', ')}${more}.`]
  }
  const lines = [...named('New', added), ...named('Changed', changed), ...named('Gone', removed)]
  return lines.length === 0 ? ['No rule decides otherwise than before.'] : lines
}
