/** Entries of the watchdog log. Source: service document, sections 2.2 and 4.1. */
import { type Static, Type } from 'typebox'
import { codeSchema, LogLevel, metadataOf, WatchdogMode } from './codes.ts'
import { codeList, DateFilter, pageQuery } from './page.ts'
import { Id, Instant, nullable, strictObject } from './schema.ts'

export const WatchdogLogEntry = strictObject({
  id: Id('Log entry id'),
  simId: nullable(Id('Associated SIM, if any')),
  poolId: nullable(Id('Associated pool, if any')),
  level: codeSchema(LogLevel, 'Log level'),
  message: Type.String({ description: 'Log message' }),
  date: Instant('When it was written'),
})
export type WatchdogLogEntry = Static<typeof WatchdogLogEntry>

const filters = {
  searchTerm: Type.Optional(Type.String({ description: 'Part of the message, upper or lower case' })),
  date: Type.Optional(DateFilter),
  level: Type.Optional(codeSchema(LogLevel, 'Log level')),
  ...pageQuery,
}

/** Asks for the log of one SIM or one pool. */
export const SubjectLogQuery = Type.Object(filters)
export type SubjectLogQuery = Static<typeof SubjectLogQuery>

/** Asks for the log of the estate. */
export const WatchdogLogQuery = Type.Object({
  simId: Type.Optional(Id('Entries of this SIM')),
  poolId: Type.Optional(Id('Entries of this pool')),
  ...filters,
})
export type WatchdogLogQuery = Static<typeof WatchdogLogQuery>

export const WatchdogMetadata = strictObject({ logLevel: codeList('Log levels'), mode: codeList('Watchdog modes') })
export const watchdogMetadata: Static<typeof WatchdogMetadata> = {
  logLevel: metadataOf(LogLevel),
  mode: metadataOf(WatchdogMode),
}
