/** `simherd tenants list|create`, `simherd keys list` and `simherd audit`. */
import { idempotent } from '../../adapters/rest/client.ts'
import { dropUndefined } from '../../domain/drop-undefined.ts'
import type { AuditEntry, AuditSubject } from '../../domain/tenants/audit.ts'
import { type ApiKey, PLATFORM, type TenantEntry } from '../../domain/tenants/tenant.ts'
import type { Settings } from '../../process/settings.ts'
import { askOnce, askService } from '../ask-service.ts'
import type { TenantFlags } from '../command.ts'
import { at } from '../instant.ts'
import { isJson, type OutputFlags, printAnswer, printJson } from '../output.ts'
import { print } from '../print.ts'
import { responseOf } from '../service.ts'
import { moreLines, table } from '../table.ts'

/** Most lines of a list. */
const SHOWN = 50

/** Lists all tenants, oldest first. */
export async function listTenants(settings: Settings, flags: OutputFlags & { readonly search?: string }) {
  const query = { page: 1, pageSize: SHOWN, ...dropUndefined({ search: flags.search }) }
  const found = await askOnce(settings, (service) => service.GET('/internal/tenants', { params: { query } }))
  printAnswer(flags, found, ({ data, pagination }) =>
    data.length === 0
      ? ['there is no such tenant']
      : [
          ...table(
            ['tenant', 'name', 'billing e-mail', 'cycle', 'currency', 'enforcement', 'since'],
            data.map(tenantRow),
          ),
          ...moreLines(pagination.totalItems, data.length),
        ],
  )
}

const tenantRow = ({ id, name, billingEmail, billingCycle, currency, enforcementEnabled, createdAt }: TenantEntry) => [
  id,
  name,
  billingEmail,
  billingCycle,
  currency,
  enforcementEnabled ? 'on' : 'off',
  at(createdAt),
]

interface CreateFlags extends OutputFlags {
  readonly email: string
  readonly cycle?: string
  readonly currency?: string
}

/** Creates a tenant, and prints its first key. */
export const createTenant = (settings: Settings, name: string, flags: CreateFlags): Promise<void> =>
  askService({ settings }, async (service) => {
    const body = {
      name,
      billingEmail: flags.email,
      ...dropUndefined({ billingCycle: flags.cycle, currency: flags.currency }),
    }
    const made = await responseOf(service.POST('/internal/tenants', { body, params: idempotent() }))
    if (isJson(flags)) return printJson(made)
    print(`tenant ${made.id} is there`)
    print(`its key, shown this once: ${made.key}`)
  })

/** Owner of keys, or of changes: a tenant, else the platform. */
const ownerOf = ({ tenant }: Partial<TenantFlags>): string => tenant ?? PLATFORM

/** Lists the keys of a tenant, or of the platform, without their secrets. */
export const listKeys = (settings: Settings, flags: Partial<TenantFlags> & OutputFlags): Promise<void> =>
  askService({ settings, tenantId: ownerOf(flags) }, async (service) => {
    printAnswer(flags, await responseOf(service.GET('/internal/keys')), (keys) =>
      keys.length === 0
        ? ['there is no key']
        : table(
            ['key', 'name', 'scopes', 'state', 'last used'],
            keys.map((key) => [key.id, key.name, key.scopes.join(', '), stateOf(key), timeOf(key.lastUsedAt)]),
          ),
    )
  })

const timeOf = (instant: string | null): string => (instant === null ? 'never' : at(instant))

function stateOf({ revokedAt, replacedBy, expiresAt }: ApiKey): string {
  if (revokedAt !== null) return `revoked ${at(revokedAt)}`
  const replaced = replacedBy === null ? '' : `, replaced by ${replacedBy}`
  return `${expiresAt === null ? 'works' : `until ${at(expiresAt)}`}${replaced}`
}

interface AuditFlags extends Partial<TenantFlags>, OutputFlags {
  readonly subject?: AuditSubject
  readonly id?: string
  readonly actor?: string
  readonly date?: string
}

/** Lists changes, newest first: who, when, what, and the values before and after. */
export const listAudit = (settings: Settings, flags: AuditFlags): Promise<void> =>
  askService({ settings, tenantId: ownerOf(flags) }, async (service) => {
    const { subject, id: subjectId, actor, date } = flags
    const query = { page: 1, pageSize: SHOWN, ...dropUndefined({ subject, subjectId, actor, date }) }
    printAnswer(
      flags,
      await responseOf(service.GET('/internal/audit', { params: { query } })),
      ({ data, pagination }) =>
        data.length === 0
          ? ['nothing was changed']
          : [
              ...table(['at', 'by', 'did', 'to', 'change'], data.map(auditRow)),
              ...moreLines(pagination.totalItems, data.length),
            ],
    )
  })

const auditRow = ({ at: when, actor, action, subject, subjectId, before, after }: AuditEntry) => [
  at(when),
  actor,
  action,
  `${subject} ${subjectId}`,
  changeText(before, after),
]

/** Most characters of a change in a table; `-o json` has all. */
const CHANGE_CHARS = 100

function changeText(before: object | null, after: object | null): string {
  const [was, is] = [before, after].map((values): Readonly<Record<string, unknown>> => ({ ...values }))
  const names = Object.keys({ ...was, ...is })
  const text = names
    .map((name) => {
      const [old, now] = [was, is].map((values) => JSON.stringify(values?.[name]))
      return old === undefined || now === undefined ? `${name}: ${now ?? old}` : `${name}: ${old} → ${now}`
    })
    .join(', ')
  return text.length > CHANGE_CHARS ? `${text.slice(0, CHANGE_CHARS)}…` : text
}
