/**
 * Settings. Only this module reads settings from the environment.
 *
 * One table has the settings. The parser, the defaults and docs/configuration.md are derived from it. All faults
 * are reported at once. Durations are ISO 8601.
 */
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { parseNetworks } from '../domain/networks.ts'
import { CURRENCY_FORM, isCurrency } from '../domain/tenants/currency.ts'
import { emailLengthFault } from '../domain/text.ts'
import { parseBillingCycle } from '../domain/time/cycle.ts'
import { DURATION_PATTERN } from '../domain/time/duration.ts'
import { parseSecretsKeys } from '../service/channels/secrets.ts'
import { whyInTheClear } from './why-in-the-clear.ts'

const text = (def: string, description: string) => Type.String({ default: def, description })
const whole = ([minimum, maximum]: readonly [number, number], def: number, description: string) =>
  Type.Integer({ minimum, maximum, default: def, description })
const port = (def: number, description: string) => whole([0, 65_535], def, description)
const choice = <const T extends readonly string[]>(values: T, def: T[number], description: string) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], default: def, description })
const duration = (def: string, description: string) =>
  Type.String({
    pattern: DURATION_PATTERN,
    expected: 'an ISO 8601 duration, such as PT5S or P1D',
    default: def,
    description,
  })
/** A setting that may be omitted. `expected` describes its values otherwise. */
const optional = (check: (value: string) => boolean, expected: string, description: string) =>
  Type.Refine(
    Type.String({ default: '', description }),
    (value) => value === '' || check(value),
    () => `must be ${expected}`,
  )
const url = (example: string, description: string) => {
  const schemes = SCHEMES[example.slice(0, example.indexOf(':'))] ?? []
  return optional(
    (value) => schemes.includes(URL.parse(value)?.protocol ?? ''),
    `a URL such as ${example}`,
    description,
  )
}
/** Base URLs, with commas between them. */
const urls = (example: string, description: string) =>
  optional(
    (value) => value.split(',').every((one) => isPublicUrl(one.trim())),
    `URLs such as ${example}, with commas between them`,
    description,
  )
/** Schemes that a URL may have, by the scheme of its example. */
const SCHEMES: Readonly<Record<string, readonly string[]>> = {
  https: ['http:', 'https:'],
  postgres: ['postgres:', 'postgresql:'],
  rediss: ['redis:', 'rediss:'],
  smtp: ['smtp:', 'smtps:'],
}
const POSTGRES = 'postgres://simherd@db:5432/simherd?sslmode=verify-full'
/** Whether a path can be added to a URL. */
const isPublicUrl = (value: string): boolean => {
  const { protocol = '', search, hash, username, password } = URL.parse(value) ?? {}
  return /^https?:$/.test(protocol) && !search && !hash && !username && !password
}
const isPort = (value: string): boolean => /^\d{1,5}$/.test(value) && Number(value) <= 65_535
const isAddress = (value: string): boolean => /^(\[[0-9a-fA-F:.]+\]|[^\s:/@]+):\d{1,5}$/.test(value)
/** A secret. It is sent in an HTTP header: its characters are restricted. */
const secret = (description: string) =>
  optional((value) => /^[\x21-\x7e]+$/.test(value), 'printable characters without spaces or line breaks', description)

export const Settings = Type.Object({
  PORT: port(8080, 'Port of the public API.'),
  HOST: text('127.0.0.1', 'Address the public API listens on.'),
  INTERNAL_PORT: port(8081, 'Port of the internal API.'),
  INTERNAL_HOST: text('127.0.0.1', 'Address the internal API listens on.'),
  WORKER_PORT: port(8082, "Port of the worker's health and metrics."),
  CONSOLE_PORT: Type.Refine(
    Type.String({ default: '8083', description: 'Port of the console, the pages for people; `off`: no console.' }),
    (value) => value === 'off' || isPort(value),
    () => 'must be a port from 0 to 65535, or off',
  ),
  CONSOLE_HOST: text('127.0.0.1', 'Address the console listens on.'),
  CONSOLE_URL: optional(
    isPublicUrl,
    'an http or https URL without query, such as https://console.example.com',
    'Address of the console as browsers see it; default: this machine at CONSOLE_PORT. Mails lead there if it is set.',
  ),
  DATA_DIR: text('.data', 'Folder of the embedded servers: database, Temporal, inbox, carrier.'),
  DATABASE_URL: url(POSTGRES, 'PostgreSQL to use instead of the embedded one.'),
  DATABASE_DIRECT_URL: url(
    POSTGRES,
    'PostgreSQL itself, if DATABASE_URL is a pooler in transaction mode. Queues, notifications, migrations and backtests ' +
      'need it.',
  ),
  DATABASE_POOL: whole([2, 1000], 12, 'Most connections of a process to PostgreSQL, without those for queues.'),
  QUEUE_POOL: whole(
    [8, 1000],
    11,
    'Most connections of a worker to take jobs, if the queues are in PostgreSQL. To enqueue, each process has up to 4 more.',
  ),
  REDIS_URL: url('rediss://redis:6379', 'Redis for the queues; default: queues in PostgreSQL.'),
  TEMPORAL_ADDRESS: optional(
    isAddress,
    'host:port, such as temporal:7233',
    'Temporal server (host:port) to use instead of an embedded one.',
  ),
  TEMPORAL_NAMESPACE: text('default', 'Temporal namespace.'),
  TEMPORAL_UI_URL: url(
    'https://temporal:8233',
    "Address of Temporal's page. Answers about a workflow then link to its history.",
  ),
  SMTP_URL: url('smtp://mail:587', 'SMTP server to send through instead of the embedded inbox.'),
  SMTP_TLS: choice(
    ['required', 'optional'],
    'required',
    'Whether mails must leave this machine encrypted (`required`), or may go in the clear if the server has no TLS.',
  ),
  MAIL_FROM: text(
    'Simherd <simherd@localhost>',
    'Sender of the e-mails. The tenant’s name is added to the sender’s name.',
  ),
  OPERATOR_EMAIL: optional(
    (value) => /^[^\s@,;:<>"]+@[^\s@,;:<>"]+$/.test(value),
    'one e-mail address, such as noc@example.com',
    'Address of the operator. Mails go there when the guard waits for a decision, when rules are put in force, are refused or cannot be decided, when the carrier refuses the credentials, and when mails fail. Default: no such mails.',
  ),
  SERVICE_URL: optional(
    isPublicUrl,
    'an http or https URL without query, such as https://simherd.example.com',
    'Public address of the public API, for links in mails. Without it, mails have no links that act, and refer to the console or the operator.',
  ),
  SERVICE_BASE_URL: urls(
    'https://api:8080',
    'Address of the public API for workers: a load balancer, or several APIs separated by commas; default: this machine at PORT.',
  ),
  SERVICE_INTERNAL_URL: urls(
    'https://api:8081',
    'The same for the internal API, for workers and commands; default: this machine at INTERNAL_PORT.',
  ),
  SERVICE_KEY: secret('Operator key of the workers.'),
  SERVICE_KEY_FILE: text('', 'File with that key, read again when the service refuses it. It overrides `SERVICE_KEY`.'),
  CARRIER_URL: url('https://carrier:8443', 'Bridge to the carrier, instead of the simulated carrier.'),
  CARRIER_SECRET: secret('Secret for the bridge to the carrier.'),
  CONNECTION_TLS: choice(
    ['required', 'optional'],
    'required',
    'Whether keys and passwords must leave this machine encrypted (`required`: https, rediss, `sslmode=verify-full`), or may go in the clear, for example in a private network. Holds for `DATABASE_URL`, `DATABASE_DIRECT_URL`, `REDIS_URL`, `CARRIER_URL`, `SERVICE_URL`, `SERVICE_BASE_URL`, `SERVICE_INTERNAL_URL`, `CONSOLE_URL`.',
  ),
  CURRENCY: text('EUR', 'Currency of new tenants: ISO 4217. A tenant keeps its own.'),
  BILLING_CYCLE: text(
    'P1M',
    'Billing cycle of new tenants: P1M (calendar months in UTC), or whole days, hours or minutes.',
  ),
  ESIM_SMDP_HOST: Type.String({
    expected: 'a host, such as smdp.example.com',
    pattern: '^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\\d{1,5})?$',
    default: 'smdp.simherd.example',
    description: 'Host for downloads of eSIM profiles (SM-DP+), part of their activation codes.',
  }),
  ESIM_ICCID_PREFIX: Type.String({
    expected: '5 to 10 digits that begin with 89',
    pattern: '^89\\d{3,8}$',
    default: '8999901',
    description: 'First digits of generated ICCIDs of eSIMs: 89, country code, issuer. The default is unassigned.',
  }),
  WORKFLOW_BUNDLE: text(
    '',
    'Bundle of the workflows, made by `npm run build`; default: the worker makes it at its start.',
  ),
  RULES_DIR: text('', 'Folder of rule files; default: the shipped rules.'),
  LOG_LEVEL: choice(['debug', 'info', 'warn', 'error'], 'info', 'Lowest level in the log.'),
  RATE_LIMIT: whole(
    [0, 1_000_000],
    1200,
    'Requests a minute with one API key of a tenant; 0: no limit. Counted in Redis, if configured.',
  ),
  REFUSAL_LIMIT: whole(
    [0, 1_000_000],
    60,
    'Requests a minute from one address without a valid key. Above it, only known valid keys are accepted from there; 0: no limit. Counted by each process.',
  ),
  ANONYMOUS_LIMIT: whole(
    [0, 1_000_000],
    300,
    'Requests a minute from one address to paths without a key (documentation, links in mails, unknown paths); 0: no limit. Counted by each process, without `/healthz`, `/readyz` and `/metrics`.',
  ),
  TRUSTED_PROXIES: optional(
    (value) => parseNetworks(value)?.every(([, bits]) => bits > 0) === true,
    'addresses or networks in CIDR notation with commas between them, none of /0, such as 10.1.2.3,fd00:1::/64',
    'Proxies with a trusted header `X-Forwarded-For`: limits then count callers instead of proxies. List only proxies that overwrite or extend the header. Default: none.',
  ),
  CLOSE_AFTER: duration(
    'PT6H',
    'Time from the end of a cycle to its close, if it has at least a day. Shorter cycles close at once.',
  ),
  USAGE_MAX_AGE: duration(
    'P90D',
    'Greatest age of a usage record. Older records, and records from before the tenant, are rejected.',
  ),
  TICKET_LEASE: duration('PT1M', 'Time until another worker takes over a ticket from a worker that stopped.'),
  TICKET_RETRY_MIN: duration('PT1S', 'First pause between attempts of a ticket.'),
  TICKET_RETRY_MAX: duration('PT5M', 'Longest pause between attempts of a ticket.'),
  TICKET_ATTEMPTS: whole([1, 1000], 12, 'Most attempts of a ticket.'),
  SMS_PATIENCE: duration(
    'PT15M',
    'Time from its request in which an SMS or a refresh is retried, if the carrier is unreachable.',
  ),
  TICKETS_PER_SIM: whole([1, 1000], 20, 'Most open tickets of a SIM requested by people. Above it, requests get 429.'),
  SMS_PER_SIM: whole([1, 1000], 5, 'Most SMS among these.'),
  TICKETS_PER_TENANT: whole(
    [1, 1_000_000],
    10_000,
    'Most open tickets of a tenant requested by people. Above it, requests get 429.',
  ),
  CARRIER_TIMEOUT: duration('PT20S', 'Timeout of requests to the carrier.'),
  STOP_DELAY: Type.String({
    pattern: '^PT(1?\\d(\\.\\d+)?|20)S$',
    expected: 'seconds from PT0S to PT20S: supervisors kill after 30 s',
    default: 'PT5S',
    description:
      'Time an API continues to serve after its stop signal, with `/readyz` 503 for load balancers; from PT0S to PT20S.',
  }),
  SWEEP_EVERY: duration('PT5S', 'Interval of sweeps for work left by a crash.'),
  MAIL_GROUP_FIRST: duration('PT1M', 'Time a notice below critical waits for others, to share a mail.'),
  MAIL_GROUP_NEXT: duration('PT1H', 'Shortest time between two grouped mails to a tenant.'),
  MAIL_RETRY_MAX: duration('PT6H', 'Longest pause between attempts of a mail.'),
  MAIL_GIVE_UP_AFTER: duration('P3D', 'Time a mail is retried, if the mail server may accept it later.'),
  WEBHOOK_ALLOW: optional(
    (value) => parseNetworks(value) !== undefined,
    'addresses or networks in CIDR notation with commas between them, such as 10.1.0.0/16,fd00::/8',
    'Private networks that webhooks may use; only there is http allowed. The API and the workers need the same value.',
  ),
  WEBHOOK_SECRETS_KEY: optional(
    (value) => parseSecretsKeys(value) !== undefined,
    'keys of 32 bytes in base64, with commas between them: `openssl rand -base64 32` makes one',
    'Keys for the secrets of webhooks in the database: the first encrypts, all decrypt. Default: no encryption. The API and the workers need the same value.',
  ),
  WEBHOOK_LOG: duration('P14D', 'Time webhook events are kept and can be replayed.'),
})
export type Settings = Static<typeof Settings>

/** Describes the values of a setting; undefined if its schema has no description. */
function expectedOf(instancePath: string): string | undefined {
  const schema = Object.entries(Settings.properties).find(([name]) => name === instancePath.slice(1))?.[1]
  return schema !== undefined && 'expected' in schema ? `must be ${String(schema.expected)}` : undefined
}

/** The given text of a setting, with secrets and passwords hidden, and control characters as their numbers. */
function shown(name: string, value: string): string {
  if (/_(KEY|SECRET)$/.test(name)) return `${name} (${value.length} characters, not shown)`
  const open = value
    .replace(/(^(?!.*\/\/)|\/\/)([^/:]*):.*@/s, '$1$2:***@')
    .replaceAll(/([?&][^=&]*password=)[^&]*/gi, '$1***')
  return `${name}=${open.replaceAll(/\p{Cc}/gu, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`)}`
}

/** Why a value cannot be used that its schema takes. Parsers of URLs leave out control characters without a word. */
function whyNot(name: string, value: string, mayBeInTheClear: boolean): string | undefined {
  if (/\p{Cc}/u.test(value)) return 'must have no control characters, such as line breaks and tabs'
  const address = /^(?:MAIL_FROM|OPERATOR_EMAIL)$/.test(name) ? (/<([^<>]*)>\s*$/.exec(value)?.[1] ?? value) : ''
  const tooLong = emailLengthFault(address)
  if (tooLong !== undefined) return `its address ${tooLong}`
  if (name === 'CURRENCY' && !isCurrency(value)) return CURRENCY_FORM
  if (name === 'BILLING_CYCLE' && parseBillingCycle(value) === undefined) return 'must be P1M, or like P7D, PT6H, PT5M'
  return mayBeInTheClear ? undefined : whyInTheClear(name, value)
}

/** Reads the settings. @throws Error that lists every wrong setting, with the value given and the values allowed */
export function readSettings(env: Readonly<Record<string, string | undefined>> = process.env): Settings {
  const given: Readonly<Record<string, string>> = Object.fromEntries(
    Object.keys(Settings.properties).flatMap((name) => (env[name] ? [[name, env[name]]] : [])),
  )
  const settings: unknown = Value.Convert(Settings, Value.Default(Settings, { ...given }))
  const faults = new Map<string, string>()
  for (const { instancePath, message } of Value.Errors(Settings, settings))
    faults.set(instancePath.slice(1), expectedOf(instancePath) ?? message)
  for (const [name, value] of Object.entries(given)) {
    if (faults.has(name)) continue
    const why = whyNot(name, value, given.CONNECTION_TLS === 'optional')
    if (why !== undefined) faults.set(name, why)
  }
  if (faults.size === 0 && Value.Check(Settings, settings)) return settings
  const lines = [...faults].map(([name, why]) => `  ${shown(name, given[name] ?? '')}: ${why}`)
  throw new Error(`settings are wrong:\n${lines.join('\n')}`)
}
