/** Tariffs. Source: service document, section 2.8. Fees are in units of the currency; the store has micro-units. */
import { type Static, Type } from 'typebox'
import { codeSchema, metadataOf, TariffType } from '../codes.ts'
import { ServiceError } from '../errors.ts'
import { codeList } from '../page.ts'
import { Id, Label, nullable, objectWithExample, optional, strictObject, Text } from '../schema.ts'
import { fromGb } from '../units.ts'

/** 1 TB a SIM, in bytes: nine million SIMs in a pool add up within 64 bits. */
const BASE_MAX_BYTES = 1_000_000_000_000
/** Bytes; below 2^53, like the usage that it is compared with. */
const FIXED_MAX_BYTES = 9_000_000_000_000_000
const FEE_MAX = 1_000_000

const bytes = (description: string, maximum: number) => Type.Integer({ minimum: 0, maximum, description })
const gb = (description: string, maximum: number) =>
  Type.Number({ minimum: 0, maximum: maximum / 1_000_000_000, description })
const fee = (description: string) => Type.Number({ minimum: 0, maximum: FEE_MAX, description })

const commonFees = {
  smsFee: fee('Fee per SMS'),
  voiceFee: fee('Fee per minute of voice'),
  overageFeePerGb: fee('Fee per GB (10^9 bytes) of overage'),
}
const baseFees = { simMonthlyFee: fee('Monthly fee per SIM'), ...commonFees }
const fixedFees = {
  simMonthlyFee: fee('Monthly fee per SIM'),
  fixedBucketCost: fee('Monthly cost of the fixed capacity bucket'),
  ...commonFees,
}

/** Terms of Standard and Dynamic Pool tariffs. */
export const BaseTariff = strictObject({
  baseTariffBytes: bytes('Included data per SIM in bytes', BASE_MAX_BYTES),
  baseTariffGb: gb('Included data per SIM in GB (10^9 bytes)', BASE_MAX_BYTES),
  ...baseFees,
})

export const FixedPoolTariff = strictObject({
  fixedCapacityBytes: bytes('Capacity of the pool in bytes', FIXED_MAX_BYTES),
  fixedCapacityGb: gb('Capacity of the pool in GB (10^9 bytes)', FIXED_MAX_BYTES),
  ...fixedFees,
})

const FEES = { simMonthlyFee: 0.9, smsFee: 0.04, voiceFee: 0.11, overageFeePerGb: 8 }
export const TARIFF_EXAMPLE = {
  id: 1,
  displayName: 'Metering 100 MB',
  description: 'For devices that send readings',
  isActive: true,
  type: TariffType.Standard,
  standardTariff: { baseTariffBytes: 100_000_000, baseTariffGb: 0.1, ...FEES },
  dynamicPoolTariff: null,
  fixedPoolTariff: null,
}

export const Tariff = objectWithExample(
  {
    id: Id('Tariff id'),
    displayName: Type.String({ description: 'Human-readable name' }),
    description: Type.String({ description: 'Description' }),
    isActive: Type.Boolean({ description: 'Whether the tariff is available for new assignments' }),
    type: codeSchema(TariffType, 'Tariff type'),
    standardTariff: nullable(BaseTariff),
    dynamicPoolTariff: nullable(BaseTariff),
    fixedPoolTariff: nullable(FixedPoolTariff),
  },
  TARIFF_EXAMPLE,
)
export type Tariff = Static<typeof Tariff>

/** The tariff as a pool embeds it. */
export const TariffSummary = strictObject({
  id: Id('Tariff id'),
  displayName: Text('Human-readable name', 'Metering 100 MB'),
  type: codeSchema(TariffType, 'Tariff type'),
})
export type TariffSummary = Static<typeof TariffSummary>

const NewBaseTerms = strictObject({
  baseTariffBytes: optional(bytes('Included data per SIM in bytes', BASE_MAX_BYTES)),
  baseTariffGb: optional(gb('Included data per SIM in GB; give this, bytes, or both alike', BASE_MAX_BYTES)),
  ...baseFees,
})
const NewFixedTerms = strictObject({
  fixedCapacityBytes: optional(bytes('Capacity of the pool in bytes', FIXED_MAX_BYTES)),
  fixedCapacityGb: optional(gb('Capacity of the pool in GB; give this, bytes, or both alike', FIXED_MAX_BYTES)),
  ...fixedFees,
})

export const NewTariff = objectWithExample(
  {
    displayName: Label('Human-readable name', 'Metering 100 MB', { minLength: 1, maxLength: 100 }),
    description: optional(Type.String({ maxLength: 1000, description: 'Description' })),
    type: codeSchema(TariffType, 'Tariff type'),
    standardTariff: optional(NewBaseTerms),
    dynamicPoolTariff: optional(NewBaseTerms),
    fixedPoolTariff: optional(NewFixedTerms),
  },
  { displayName: 'Metering 100 MB', type: TariffType.Standard, standardTariff: { baseTariffGb: 0.1, ...FEES } },
)
export type NewTariff = Static<typeof NewTariff>

/** The part of a tariff that may change. Other parts are fixed, because cycles were charged by them. */
export const TariffOffer = strictObject({
  isActive: Type.Boolean({ description: 'Whether the tariff is available for new assignments' }),
})

/** The terms of a tariff in one shape for all types. Allowance in bytes, fees in units of the currency. */
export interface TariffTerms {
  readonly allowanceBytes: number
  readonly simMonthlyFee: number
  readonly fixedBucketCost: number
  readonly smsFee: number
  readonly voiceFee: number
  readonly overageFeePerGb: number
}

const BLOCKS = {
  [TariffType.Standard]: 'standardTariff',
  [TariffType['Dynamic Pool']]: 'dynamicPoolTariff',
  [TariffType['Fixed Pool']]: 'fixedPoolTariff',
} as const
type Block = (typeof BLOCKS)[TariffType]

function wrong(pointer: string, detail: string): ServiceError {
  return new ServiceError('invalid_request', `The tariff is incomplete: ${pointer} ${detail}`, {
    errors: [{ pointer, detail }],
  })
}

function allowanceOf(block: Block, given: number | null | undefined, givenGb: number | null | undefined): number {
  if (given == null && givenGb == null) throw wrong(`/${block}`, 'needs its data in bytes or in GB')
  if (given == null) return fromGb(givenGb ?? 0)
  if (givenGb != null && fromGb(givenGb) !== given) {
    throw new ServiceError(
      'tariff_units_disagree',
      `The tariff says ${given} bytes and ${givenGb} GB, which is ${fromGb(givenGb)} bytes: give one, or both alike`,
    )
  }
  return given
}

/**
 * Reads the terms of a new tariff. Allowance in bytes, fees in units of the currency.
 *
 * @throws ServiceError invalid_request if the block for its type or the block's data is missing, or another block is
 *   given; tariff_units_disagree if bytes and GB differ
 */
export function termsOf(tariff: NewTariff): TariffTerms {
  const block = BLOCKS[tariff.type]
  for (const other of Object.values(BLOCKS)) {
    if (other !== block && tariff[other] != null) throw wrong(`/${other}`, `does not belong to type ${tariff.type}`)
  }
  const terms = tariff[block]
  if (terms == null) throw wrong(`/${block}`, `is required for type ${tariff.type}`)
  const { simMonthlyFee, smsFee, voiceFee, overageFeePerGb } = terms
  const fees = { simMonthlyFee, smsFee, voiceFee, overageFeePerGb }
  if ('fixedBucketCost' in terms) {
    const allowanceBytes = allowanceOf(block, terms.fixedCapacityBytes, terms.fixedCapacityGb)
    return { allowanceBytes, fixedBucketCost: terms.fixedBucketCost, ...fees }
  }
  const allowanceBytes = allowanceOf(block, terms.baseTariffBytes, terms.baseTariffGb)
  return { allowanceBytes, fixedBucketCost: 0, ...fees }
}

/** Checks that a tariff takes new assignments. @throws ServiceError tariff_inactive if it does not */
export function mustBeActive(tariff: Tariff): void {
  if (tariff.isActive) return
  throw new ServiceError(
    'tariff_inactive',
    `Tariff ${tariff.id} (${tariff.displayName}) takes no new assignments: choose an active one`,
  )
}

export const TariffMetadata = strictObject({ type: codeList('Tariff types', TariffType) })
export const tariffMetadata: Static<typeof TariffMetadata> = { type: metadataOf(TariffType) }
