/**
 * Settings. Only this module reads settings from the environment.
 *
 * One table has the settings. The parser, the defaults and docs/configuration.md are derived from it. All faults
 * are reported at once. Durations are ISO 8601.
 */
import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'
import { parseSecretsKeys } from '../domain/channels/secrets-keys.ts'
import { emailLengthFault } from '../domain/email-length.ts'
import { parseNetworks } from '../domain/networks.ts'
import { parseBillingCycle } from '../domain/time/cycle.ts'
import { DURATION_PATTERN } from '../domain/time/duration.ts'
import { whyInTheClear } from './in-the-clear.ts'

const port = (def: number, description: string) =>
  Type.Integer({ minimum: 0, maximum: 65535, default: def, description })
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
const isAddress = (value: string): boolean => /^(\[[0-9a-fA-F:.]+\]|[^\s:/@]+):\d{1,5}$/.test(value)
/** A secret. It is sent in an HTTP header: its characters are restricted. */
const secret = (description: string) =>
  optional((value) => /^[\x21-\x7e]+$/.test(value), 'printable characters without spaces or line breaks', description)

export const Settings = Type.Object({
  PORT: port(8080, 'Port of the public API.'),
  HOST: Type.String({ default: '127.0.0.1', description: 'Address the public API listens on.' }),
  INTERNAL_PORT: port(8081, 'Port of the internal API.'),
  INTERNAL_HOST: Type.String({ default: '127.0.0.1', description: 'Address the internal API listens on.' }),
  WORKER_PORT: port(8082, "Port of the worker's health and metrics."),
  DATA_DIR: Type.String({
    default: '.data',
    description: 'Folder of the embedded servers: database, Temporal, inbox, carrier.',
  }),
  DATABASE_URL: url(POSTGRES, 'PostgreSQL to use instead of the embedded one.'),
  DATABASE_DIRECT_URL: url(
    POSTGRES,
    'Where DATABASE_URL names a pooler that gives a connection to others after each transaction: PostgreSQL itself, for what ' +
      'needs a connection of its own (queues, notifications, migrations, backtests).',
  ),
  DATABASE_POOL: Type.Integer({
    minimum: 2,
    maximum: 1000,
    default: 12,
    description: 'Connections to PostgreSQL of one process, at most, for what it does.',
  }),
  QUEUE_POOL: Type.Integer({
    minimum: 8,
    maximum: 1000,
    default: 11,
    description:
      'Connections to PostgreSQL of one worker, at most, to take jobs from queues that live there; to enqueue, every process has up to 4 more.',
  }),
  REDIS_URL: url('rediss://redis:6379', 'Redis for the queues; without it they live in PostgreSQL.'),
  TEMPORAL_ADDRESS: optional(
    isAddress,
    'host:port, such as temporal:7233',
    'Temporal server (host:port) to use instead of an embedded one.',
  ),
  TEMPORAL_NAMESPACE: Type.String({ default: 'default', description: 'Temporal namespace.' }),
  TEMPORAL_UI_URL: url(
    'https://temporal:8233',
    "Temporal's own page; answers about a workflow then link to its history there.",
  ),
  SMTP_URL: url('smtp://mail:587', 'SMTP server to send through instead of the embedded inbox.'),
  SMTP_TLS: Type.Unsafe<'required' | 'optional'>({
    type: 'string',
    enum: ['required', 'optional'],
    default: 'required',
    description:
      'Whether mails leave this machine encrypted only (`required`), or in the clear where the server offers nothing else.',
  }),
  MAIL_FROM: Type.String({
    default: 'Simherd <simherd@localhost>',
    description: 'Sender of the e-mails; the tenant’s name is added to the sender’s.',
  }),
  OPERATOR_EMAIL: optional(
    (value) => /^[^\s@,;:<>"]+@[^\s@,;:<>"]+$/.test(value),
    'one e-mail address, such as noc@example.com',
    'Who operates the installation: is mailed when rules are put in force, refused or cannot be decided, when the carrier refuses the credentials, and when mails are given up; without one nobody is.',
  ),
  SERVICE_URL: optional(
    isPublicUrl,
    'an http or https URL without query, such as https://simherd.example.com',
    'Public address of the public API: links in mails lead there. Without it, mails name commands instead.',
  ),
  SERVICE_BASE_URL: urls(
    'https://api:8080',
    'Where workers reach the public API: of a load balancer, or of several APIs with commas between them; default: this machine at PORT.',
  ),
  SERVICE_INTERNAL_URL: urls(
    'https://api:8081',
    'Where workers and commands reach the internal API, likewise; default: this machine at INTERNAL_PORT.',
  ),
  SERVICE_KEY: secret('Operator key the workers use.'),
  SERVICE_KEY_FILE: Type.String({
    default: '',
    description: 'File with that key, read again when the service refuses it; comes before `SERVICE_KEY`.',
  }),
  CARRIER_URL: url('https://carrier:8443', 'Bridge to the carrier to use instead of the simulated one.'),
  CARRIER_SECRET: secret('Secret the bridge to the carrier expects.'),
  CONNECTION_TLS: Type.Unsafe<'required' | 'optional'>({
    type: 'string',
    enum: ['required', 'optional'],
    default: 'required',
    description:
      'Whether keys and passwords leave this machine encrypted only (`required`: https, rediss, `sslmode=verify-full`), or also in the clear, where the network itself keeps them secret. Of `DATABASE_URL`, `DATABASE_DIRECT_URL`, `REDIS_URL`, `CARRIER_URL`, `SERVICE_URL`, `SERVICE_BASE_URL`, `SERVICE_INTERNAL_URL`.',
  }),
  BILLING_CYCLE: Type.String({
    default: 'P1M',
    description: 'Billing cycle of new tenants: P1M (calendar months in UTC), or whole days, hours or minutes.',
  }),
  ESIM_SMDP_HOST: Type.String({
    expected: 'a host, such as smdp.example.com',
    pattern: '^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\\d{1,5})?$',
    default: 'smdp.simherd.example',
    description: 'Host that eSIM profiles are downloaded from (SM-DP+); it is in their activation codes.',
  }),
  ESIM_ICCID_PREFIX: Type.String({
    expected: '5 to 10 digits that begin with 89',
    pattern: '^89\\d{3,8}$',
    default: '8999901',
    description: 'First digits of the ICCIDs made for eSIMs: 89, country code, issuer; the default is nobody’s.',
  }),
  WORKFLOW_BUNDLE: Type.String({
    default: '',
    description: 'Workflows bundled ahead by `npm run build`; default: the worker bundles them when it starts.',
  }),
  RULES_DIR: Type.String({ default: '', description: 'Folder of rule files; default: the shipped ones.' }),
  LOG_LEVEL: Type.Unsafe<'debug' | 'info' | 'warn' | 'error'>({
    type: 'string',
    enum: ['debug', 'info', 'warn', 'error'],
    default: 'info',
    description: 'Least level that is logged.',
  }),
  RATE_LIMIT: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 1200,
    description: 'Requests a tenant’s API key may make in a minute; 0: no limit. Counted in Redis where there is one.',
  }),
  REFUSAL_LIMIT: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 60,
    description:
      'Requests of one address that may be refused for their key in a minute, before only keys that work are looked at; 0: no limit. Counted by each process.',
  }),
  ANONYMOUS_LIMIT: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    default: 300,
    description:
      'Requests of one address in a minute to what takes no key (documentation, links in mails, paths there are none of); 0: no limit. Counted by each process; `/healthz`, `/readyz` and `/metrics` are not.',
  }),
  TRUSTED_PROXIES: optional(
    (value) => parseNetworks(value)?.every(([, bits]) => bits > 0) === true,
    'addresses or networks in CIDR notation with commas between them, none of /0, such as 10.1.2.3,fd00:1::/64',
    'Proxies whose `X-Forwarded-For` says whom a request comes from, so that limits count callers and not proxies. Without it nobody’s does. Name only what overwrites or extends the header.',
  ),
  CLOSE_AFTER: duration(
    'PT6H',
    'How long after its end a cycle of a day or longer is closed; shorter ones close at once.',
  ),
  USAGE_MAX_AGE: duration(
    'P90D',
    'How late a usage record may come: older ones are rejected, also those from before their tenant was made.',
  ),
  TICKET_LEASE: duration('PT1M', 'How long a worker may work on a ticket before another takes it over.'),
  TICKET_RETRY_MIN: duration('PT1S', 'First pause before a ticket is tried again.'),
  TICKET_RETRY_MAX: duration('PT5M', 'Longest pause before a ticket is tried again.'),
  TICKET_ATTEMPTS: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 12,
    description: 'How often a ticket is tried.',
  }),
  SMS_PATIENCE: duration(
    'PT15M',
    'How long after it was asked for an SMS or a refresh is tried again where the carrier is away.',
  ),
  TICKETS_PER_SIM: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 20,
    description: 'Tickets a SIM may have open at a time, of those that persons ask for; beyond it 429.',
  }),
  SMS_PER_SIM: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 5,
    description: 'How many of these may be SMS.',
  }),
  TICKETS_PER_TENANT: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 10_000,
    description: 'Tickets a tenant may have open at a time, of those that persons ask for; beyond it 429.',
  }),
  CARRIER_TIMEOUT: duration('PT20S', 'How long the carrier may take to answer.'),
  STOP_DELAY: Type.String({
    pattern: '^PT(1?\\d(\\.\\d+)?|20)S$',
    expected: 'seconds from PT0S to PT20S: supervisors kill after 30 s',
    default: 'PT5S',
    description:
      'How long an API that is told to end still answers, with `/readyz` 503, so that load balancers see it; from PT0S to PT20S.',
  }),
  SWEEP_EVERY: duration('PT5S', 'How often workers look for work a crash has left.'),
  MAIL_GROUP_FIRST: duration('PT1M', 'How long a notice that is not critical waits for others.'),
  MAIL_GROUP_NEXT: duration('PT1H', 'Least time between two grouped mails to one tenant.'),
  MAIL_RETRY_MAX: duration('PT6H', 'Longest pause before a mail is tried again.'),
  MAIL_GIVE_UP_AFTER: duration('P3D', 'How long a mail is tried that the mail server may take later.'),
  WEBHOOK_ALLOW: optional(
    (value) => parseNetworks(value) !== undefined,
    'addresses or networks in CIDR notation with commas between them, such as 10.1.0.0/16,fd00::/8',
    'Networks that webhooks may be in although they are not of the public internet; http is for these only. The API and the workers need the same.',
  ),
  WEBHOOK_SECRETS_KEY: optional(
    (value) => parseSecretsKeys(value) !== undefined,
    'keys of 32 bytes in base64, with commas between them: `openssl rand -base64 32` makes one',
    'Keys that encrypt the secrets of webhooks in the database: the first encrypts, all decrypt; without one they are kept as they are. The API and the workers need the same.',
  ),
  WEBHOOK_LOG: duration('P14D', 'How long events that were sent to webhooks are kept, and can be replayed.'),
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
  if (name === 'BILLING_CYCLE' && parseBillingCycle(value) === undefined) return 'must be P1M, or like P7D, PT6H, PT5M'
  return mayBeInTheClear ? undefined : whyInTheClear(name, value)
}

/**
 * Reads the settings.
 *
 * @throws Error that lists every wrong setting, with the value given and the values allowed
 */
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
