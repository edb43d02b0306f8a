/** SIMs. Source: service document, sections 2.4 and 4.3. 1 MB is 10^6 bytes. */
import { type Static, Type } from 'typebox'
import { codeSchema, metadataOf, SimStatus, SimType, WatchdogMode } from '../codes.ts'
import { cursorQuery } from '../cursor.ts'
import { ICCID, withoutFiller } from '../identifiers.ts'
import { codeList, pageQuery } from '../page.ts'
import { Iccid, Id, Instant, Label, nullable, objectWithExample, optional, strictObject, Text } from '../schema.ts'
import { TARIFF_EXAMPLE, Tariff } from '../tariffs/tariff.ts'
import { ACTIVATION_CODE, MOST_CODE } from './activation-code.ts'

const ThresholdPct = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: 'Usage warning threshold in percent, 1 to 100',
})
const BurnRate = Type.Boolean({ description: 'Whether burn rate alerts are enabled' })
const Exempt = Type.Boolean({ description: 'Whether the watchdog is disabled for this SIM' })
export const Tag = (description: string) => Label(description, 'meter 17', { maxLength: 128 })
const OwnTag = Tag('User-defined label, at most 128 characters')

const usage = {
  limitMB: Type.Number({ description: 'Data limit in MB' }),
  usageMB: Type.Number({ description: 'Data used this cycle in MB' }),
  remainingMB: Type.Number({ description: 'Remaining data in MB' }),
  isOverage: Type.Boolean({ description: 'Whether the SIM is in overage' }),
  overageMB: Type.Number({ description: 'Overage consumption in MB' }),
}

export const Sim = objectWithExample(
  {
    id: Id('SIM id'),
    tag: Type.String({ description: 'User-defined label' }),
    iccid: Type.String({ description: 'ICCID' }),
    poolId: nullable(Id('Assigned pool id')),
    tariffId: nullable(Id('Id of the SIM’s own tariff; a tariff of its pool may override it')),
    imsi: Type.String({ description: 'IMSI; empty until known' }),
    msisdn: Type.String({ description: 'MSISDN; empty until known' }),
    imei: Type.String({ description: 'Last seen IMEI; empty until known' }),
    status: codeSchema(SimStatus, 'SIM status'),
    updatedAt: Instant('Last update timestamp'),
    provisionedAt: nullable(Instant('Provisioning timestamp')),
    lastSeenAt: nullable(Instant('Last network activity')),
    ...usage,
    voiceMins: Type.Number({ description: 'Voice minutes used' }),
    smsCount: Type.Integer({ description: 'SMS count' }),
    type: codeSchema(SimType, 'SIM type'),
    esimQrPayload: nullable(
      Type.String({ description: 'eSIM activation payload (eSIMs only; null for a key without the scope esim)' }),
    ),
    esimQrDataUrl: nullable(
      Type.String({ description: 'eSIM QR code as a data URL (eSIMs only; null for a key without the scope esim)' }),
    ),
    pendingPoolId: nullable(Id('Queued pool change')),
    pendingTariffId: nullable(Id('Queued tariff change')),
    pendingUnassign: Type.Boolean({ description: 'Whether the SIM is queued to be unassigned' }),
    watchdogMode: codeSchema(WatchdogMode, 'Watchdog mode in effect (the SIM’s own, else its pool’s)'),
    isWatchdogExempt: Exempt,
    warningThresholdPct: nullable(ThresholdPct),
    enableBurnRateAlerts: nullable(BurnRate),
    processingTicket: Type.Boolean({ description: 'Whether a ticket is open' }),
    processingTicketCount: Type.Integer({ description: 'Number of open tickets' }),
    tariff: Type.Union([Tariff, strictObject({})], { description: 'The governing tariff; {} without one' }),
  },
  {
    id: 1,
    tag: 'meter 17',
    iccid: '8999900000000000017',
    poolId: 1,
    tariffId: null,
    imsi: '001010000000017',
    msisdn: '+999500000017',
    imei: '004999010640000',
    status: SimStatus.Active,
    updatedAt: '2026-10-02T09:30:00.000Z',
    provisionedAt: '2026-09-15T10:00:00.000Z',
    lastSeenAt: '2026-11-20T11:58:07.000Z',
    limitMB: 100,
    usageMB: 41.5,
    remainingMB: 58.5,
    isOverage: false,
    overageMB: 0,
    voiceMins: 0,
    smsCount: 3,
    type: SimType['Physical SIM'],
    esimQrPayload: null,
    esimQrDataUrl: null,
    pendingPoolId: null,
    pendingTariffId: null,
    pendingUnassign: false,
    watchdogMode: WatchdogMode.Monitor,
    isWatchdogExempt: false,
    warningThresholdPct: 80,
    enableBurnRateAlerts: null,
    processingTicket: false,
    processingTicketCount: 0,
    tariff: TARIFF_EXAMPLE,
  },
)
export type Sim = Static<typeof Sim>

/** A SIM without the picture of its activation code. The API draws it. */
export type StoredSim = Omit<Sim, 'esimQrDataUrl'>

/** A SIM as the list of a pool shows it. */
export const SimSummary = objectWithExample(
  {
    id: Id('SIM id'),
    iccid: Type.String({ description: 'ICCID' }),
    tag: Type.String({ description: 'User-defined label' }),
    status: codeSchema(SimStatus, 'SIM status'),
    ...usage,
    watchdogMode: codeSchema(WatchdogMode, 'Watchdog mode in effect (the SIM’s own, else its pool’s)'),
    isWatchdogExempt: Exempt,
    warningThresholdPct: nullable(ThresholdPct),
    enableBurnRateAlerts: nullable(BurnRate),
  },
  {
    id: 1,
    iccid: '8999900000000000017',
    tag: 'meter 17',
    status: SimStatus.Active,
    limitMB: 100,
    usageMB: 41.5,
    remainingMB: 58.5,
    isOverage: false,
    overageMB: 0,
    watchdogMode: WatchdogMode.Monitor,
    isWatchdogExempt: false,
    warningThresholdPct: 80,
    enableBurnRateAlerts: null,
  },
)
export type SimSummary = Static<typeof SimSummary>

export const SimQuery = Type.Object({
  search: Type.Optional(Text('Part of the ICCID, IMSI, MSISDN or tag, upper or lower case', 'meter')),
  status: Type.Optional(codeSchema(SimStatus, 'SIM status')),
  poolId: Type.Optional(Id('SIMs in this pool')),
  ...pageQuery,
  ...cursorQuery('sims'),
})
export type SimQuery = Static<typeof SimQuery>

export const TagChange = strictObject({ tag: OwnTag })
export const QueueReprovision = strictObject({
  poolId: optional(Id('Pool from the next billing cycle on; omitted: unchanged')),
  tariffId: optional(Id('Tariff from the next billing cycle on; omitted: unchanged')),
})
export type QueueReprovision = Static<typeof QueueReprovision>

const NUMBER = /^\d{1,17}$/

export type SimLookup = { readonly by: 'id'; readonly id: number } | { readonly by: 'iccid'; readonly iccid: string }

/** Reads the last segment of `/api/sims/{x}`: an ICCID of 18 to 22 digits, or an id of 1 to 17; else undefined. */
export function lookupOf(segment: string): SimLookup | undefined {
  if (ICCID.test(segment)) return { by: 'iccid', iccid: withoutFiller(segment) }
  const id = NUMBER.test(segment) ? Number(segment) : Number.NaN
  return Number.isSafeInteger(id) ? { by: 'id', id } : undefined
}

const ownSettings = {
  watchdogMode: optional(codeSchema(WatchdogMode, 'Own watchdog mode, null for the pool’s')),
  warningThresholdPct: optional(ThresholdPct),
  enableBurnRateAlerts: optional(BurnRate),
}

/** A SIM before it is provisioned. */
export const NewSim = strictObject({
  iccid: Iccid('ICCID'),
  imsi: optional(Type.String({ pattern: '^\\d{0,15}$', description: 'IMSI, at most 15 digits' })),
  msisdn: optional(Type.String({ pattern: '^\\+?\\d{0,15}$', description: 'MSISDN, at most 15 digits' })),
  imei: optional(
    Type.String({ pattern: '^(\\d{14,16})?$', description: 'IMEI of the device it is in, 14 to 16 digits' }),
  ),
  type: optional(codeSchema(SimType, 'SIM type, by default physical')),
  esimQrPayload: optional(
    Type.String({ pattern: ACTIVATION_CODE.source, maxLength: MOST_CODE, description: 'eSIM activation payload' }),
  ),
  tag: optional(OwnTag),
  ...ownSettings,
  isWatchdogExempt: optional(Exempt),
})
export type NewSim = Static<typeof NewSim>

/**
 * Request to change a SIM's own watchdog settings. An omitted setting stays unchanged. Null: the SIM has no own
 * setting; `settingsInForce` then has the one in force.
 */
export const SimWatchdogChange = strictObject({ ...ownSettings, isWatchdogExempt: optional(Exempt) })
export type SimWatchdogChange = Static<typeof SimWatchdogChange>

export const SimMetadata = strictObject({
  type: codeList('SIM types', SimType),
  status: codeList('SIM statuses', SimStatus),
})
export const simMetadata: Static<typeof SimMetadata> = { type: metadataOf(SimType), status: metadataOf(SimStatus) }
