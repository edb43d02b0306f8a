/** The OpenAPI document as plain JSON. */
export type JsonObject = { [name: string]: Json }
export type Json = null | boolean | number | string | Json[] | JsonObject

export const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value))
export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
