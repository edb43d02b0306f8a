/** Past settings: the changes in the audit trail, taken back or repeated by the operations that made them. */
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { EnforcementChange } from '../../domain/enforcement/guard.ts'
import { ServiceError } from '../../domain/errors.ts'
import { PoolUpdate } from '../../domain/pools/pool.ts'
import { strictObject } from '../../domain/schema.ts'
import { SimWatchdogChange } from '../../domain/sims/sim.ts'
import { NoticeSettings } from '../../domain/tenants/notices.ts'
import type { TenantTx } from '../../store/tenancy.ts'
import { changeNotices } from '../channels/change-notices.ts'
import { changeEnforcement } from '../enforcement/change-enforcement.ts'
import { lockPool } from '../pools/rows/pools.ts'
import { updatePool } from '../pools/update-pool.ts'
import { setSimWatchdog } from '../sims/set-sim-watchdog.ts'
import { tagSim } from '../sims/tag-sim.ts'
import { readNoticeSettings } from '../tenants/rows/tenants.ts'
import type { PastSetting } from './rows/past.ts'

type Fields = Readonly<Record<string, unknown>>

/** Sets the values of an entry. @returns whether it could: not for a SIM or a pool that does not exist */
export async function setAs(tx: TenantTx, { subject, id }: PastSetting, fields: Fields): Promise<boolean> {
  try {
    if (subject === 'sim') await setSim(tx, Number(id), fields)
    else if (subject === 'pool') await setPool(tx, Number(id), fields)
    else await setTenant(tx, fields)
    return true
  } catch (error) {
    if (error instanceof ServiceError) return false
    throw error
  }
}

async function setSim(tx: TenantTx, id: number, fields: Fields): Promise<void> {
  const { tag } = fields
  if (typeof tag === 'string') await tagSim(tx, { id, tag })
  const watchdog = only(fields, SimWatchdogChange)
  if (Value.Check(SimWatchdogChange, watchdog)) await setSimWatchdog(tx, { ...watchdog, id })
}

/** A name of the past may have characters that a new one may not. */
const PastPool = strictObject({ ...PoolUpdate.properties, name: Type.String() })

async function setPool(tx: TenantTx, id: number, fields: Fields): Promise<void> {
  const { name, watchdogMode, warningThresholdPct, enableBurnRateAlerts } = await lockPool(tx, id)
  const update = only({ name, watchdogMode, warningThresholdPct, enableBurnRateAlerts, ...fields }, PoolUpdate)
  if (Value.Check(PastPool, update)) await updatePool(tx, { ...update, id })
}

async function setTenant(tx: TenantTx, fields: Fields): Promise<void> {
  const enforcement = only(fields, EnforcementChange)
  if (Value.Check(EnforcementChange, enforcement)) await changeEnforcement(tx, enforcement)
  const notices = only({ ...(await readNoticeSettings(tx)), ...fields }, NoticeSettings)
  if (Value.Check(NoticeSettings, notices)) await changeNotices(tx, notices)
}

const only = (fields: Fields, { properties }: { readonly properties: object }): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => name in properties && value !== undefined))
