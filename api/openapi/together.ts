/** JSON Schema for fields of a body that depend on each other. Only for the document: operations check them too. */
import type { Json, JsonObject } from './json.ts'

/** A field that is present. Null counts as left out. */
const given = (name: string, schema: JsonObject = { not: { type: 'null' } }): JsonObject => ({
  required: [name],
  properties: { [name]: schema },
})
const leftOut = (...names: readonly string[]): JsonObject => ({
  properties: Object.fromEntries(names.map((name) => [name, { type: 'null' }])),
})
const is = (name: string, value: Json): JsonObject => given(name, { const: value })

const WORDS = ['if', 'then', 'else']

/** `if`, `then` and `else` of JSON Schema. Generators of types do not know them, so generated types stay simple. */
const when = (...parts: readonly [so: JsonObject, yes: JsonObject, no: JsonObject]): JsonObject =>
  Object.fromEntries(parts.map((part, i) => [WORDS[i], part]))

/** Exactly one of two fields. */
export const eitherOf = (one: string, other: string): JsonObject => when(given(one), leftOut(other), given(other))

/** At most one of two fields. */
export const notBoth = (one: string, other: string): JsonObject => when(given(one), leftOut(other), {})

/** A list without duplicate items. */
export const noneTwice = (name: string): JsonObject => ({ properties: { [name]: { uniqueItems: true } } })

const data = (...names: readonly string[]): JsonObject => ({
  type: 'object',
  anyOf: names.map((name) => given(name)),
})
const BASE = data('baseTariffBytes', 'baseTariffGb')
const FIXED = data('fixedCapacityBytes', 'fixedCapacityGb')

/** The terms of the tariff's own type, with their data, and the terms of no other type. */
export const TERMS_OF_A_TARIFF: JsonObject = {
  allOf: [
    when(is('type', 0), given('standardTariff', BASE), leftOut('standardTariff')),
    when(is('type', 1), given('dynamicPoolTariff', BASE), leftOut('dynamicPoolTariff')),
    when(is('type', 2), given('fixedPoolTariff', FIXED), leftOut('fixedPoolTariff')),
  ],
}

/** Message text, pool, tariff and tag are allowed for some types of run only. */
export const TERMS_OF_A_BULK_RUN: JsonObject = {
  allOf: [
    when(is('type', 'send-sms'), given('message'), leftOut('message')),
    when(is('type', 'provision'), {}, leftOut('poolId', 'tariffId', 'tag')),
  ],
}

/** Requires `poolId` for the action on a pool, and `simId` for all other actions. */
export const actionOf = (ofPool: string): JsonObject =>
  when(
    is('action', ofPool),
    { allOf: [given('poolId'), leftOut('simId')] },
    { allOf: [given('simId'), leftOut('poolId')] },
  )

/** At most one price for each of these types. */
export const onePriceOf = (types: readonly number[]): JsonObject => ({
  allOf: types.map((type) => ({
    properties: { prices: { contains: is('type', type), minContains: 0, maxContains: 1 } },
  })),
})
