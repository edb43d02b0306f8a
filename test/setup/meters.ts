/** Tenants of a whole service whose SIMs have a limit of 100 MB, and rules for SIMs that are over it. */
import { MB } from '../../domain/units.ts'
import type { Service } from './service.ts'

export const LIMIT_MB = 100
const METER = { baseTariffBytes: LIMIT_MB * MB, simMonthlyFee: 2, smsFee: 0.05, voiceFee: 0.1, overageFeePerGb: 5 }

/** Makes a tenant with these pools, all of one tariff. @param also of each pool; default: it enforces */
export async function aMeterTenant<Name extends string>(
  { call, tenantCall }: Service,
  tenant: { readonly name: string; readonly billingEmail: string; readonly billingCycle?: string },
  pools: readonly Name[],
  also: object = {},
): Promise<{ readonly tenantId: string; readonly poolIds: Record<Name, number> }> {
  const { id: tenantId } = await call('POST', '/internal/tenants', '', tenant)
  const tariff = { displayName: 'Meter', type: 0, standardTariff: METER }
  const { id: tariffId } = await call('POST', '/internal/tariffs', tenantId, tariff)
  const poolIds: [Name, number][] = []
  for (const name of pools) {
    const pool = { name, type: 0, tariffId, watchdogMode: 2, ...also }
    poolIds.push([name, (await tenantCall('POST', '/api/pools', tenantId, pool)).id])
  }
  return { tenantId, poolIds: Object.fromEntries(poolIds) as Record<Name, number> }
}

/** The file of a rule that fires for SIMs of a pool that are over their limit. */
export const overLimitRule = (pool: string, params: object) => ({
  file: `sim/over-${pool}.json`,
  text: JSON.stringify({
    name: `over-${pool}`,
    description: `SIMs of pool ${pool} that are over their limit.`,
    subject: 'sim',
    match: { pool },
    conditions: { all: [{ fact: 'overageMB', operator: 'greaterThan', value: 0 }] },
    event: {
      type: 'overage',
      params: {
        message: 'SIM {{iccid}} is {{overageMB}} MB over its limit.',
        actions: ['log', 'email'],
        once: 'cycle',
        resolve: 'log',
        ...params,
      },
    },
    examples: [
      { fires: true, facts: { overageMB: 1 } },
      { fires: false, facts: { overageMB: 0 } },
    ],
  }),
})
