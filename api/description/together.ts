/** JSON Schema for what has to stand together in a body: the document's, while operations refuse it in words of their own. */
import type { Json, JsonObject } from './json.ts'

/** Null is as good as left out. */
const given = (name: string, schema: JsonObject = { not: { type: 'null' } }): JsonObject => ({
  required: [name],
  properties: { [name]: schema },
})
const leftOut = (...names: readonly string[]): JsonObject => ({
  properties: Object.fromEntries(names.map((name) => [name, { type: 'null' }])),
})
const is = (name: string, value: Json): JsonObject => given(name, { const: value })

const WORDS = ['if', 'then', 'else']

/** JSON Schema's if, then and else: types that are made from a document do not know them, and stay simple. */
const when = (...parts: readonly [so: JsonObject, yes: JsonObject, no: JsonObject]): JsonObject =>
  Object.fromEntries(parts.map((part, i) => [WORDS[i], part]))

/** One of two fields, and not both. */
export const eitherOf = (one: string, other: string): JsonObject => when(given(one), leftOut(other), given(other))

/** Items of a list, of which none may be there twice. */
export const noneTwice = (name: string): JsonObject => ({ properties: { [name]: { uniqueItems: true } } })

const data = (...names: readonly string[]): JsonObject => ({
  type: 'object',
  anyOf: names.map((name) => given(name)),
})
const BASE = data('baseTariffBytes', 'baseTariffGb')
const FIXED = data('fixedCapacityBytes', 'fixedCapacityGb')

/** The terms of its type, with its data, and no other's. */
export const TERMS_OF_A_TARIFF: JsonObject = {
  allOf: [
    when(is('type', 0), given('standardTariff', BASE), leftOut('standardTariff')),
    when(is('type', 1), given('dynamicPoolTariff', BASE), leftOut('dynamicPoolTariff')),
    when(is('type', 2), given('fixedPoolTariff', FIXED), leftOut('fixedPoolTariff')),
  ],
}

/** Text, pool, tariff and tag belong to some types of run only. */
export const TERMS_OF_A_BULK_RUN: JsonObject = {
  allOf: [
    when(is('type', 'send-sms'), given('message'), leftOut('message')),
    when(is('type', 'provision'), {}, leftOut('poolId', 'tariffId', 'tag')),
  ],
}

/** Of a pool, or of a SIM, as the action is. */
export const actionOf = (ofPool: string): JsonObject =>
  when(
    is('action', ofPool),
    { allOf: [given('poolId'), leftOut('simId')] },
    { allOf: [given('simId'), leftOut('poolId')] },
  )

/** One price for each of these types. */
export const onePriceOf = (types: readonly number[]): JsonObject => ({
  allOf: types.map((type) => ({
    properties: { prices: { contains: is('type', type), minContains: 0, maxContains: 1 } },
  })),
})
