/** Entries of the watchdog log. Source: service document, sections 2.2 and 4.1. */
import { type Static, Type } from 'typebox'
import { codeSchema, LogLevel, metadataOf, WatchdogMode } from '../codes.ts'
import { cursorQuery } from '../cursor.ts'
import { codeList, DateFilter, pageQuery } from '../page.ts'
import { Id, Instant, nullable, objectWithExample, strictObject, Text } from '../schema.ts'

export const WatchdogLogEntry = objectWithExample(
  {
    id: Id('Log entry id'),
    simId: nullable(Id('Associated SIM, if any')),
    poolId: nullable(Id('Associated pool, if any')),
    level: codeSchema(LogLevel, 'Log level'),
    message: Type.String({ description: 'Log message' }),
    date: Instant('Time of the entry'),
  },
  {
    id: 1,
    simId: 1,
    poolId: null,
    level: LogLevel.Warning,
    message: 'SIM 8999900000000000017 is at 80.2 % of its limit: 80.2 of 100 MB used.',
    date: '2026-11-20T12:00:00.000Z',
  },
)
export type WatchdogLogEntry = Static<typeof WatchdogLogEntry>

const filters = {
  searchTerm: Type.Optional(Text('Part of the message, upper or lower case', 'of its limit')),
  date: Type.Optional(DateFilter),
  level: Type.Optional(codeSchema(LogLevel, 'Log level')),
  ...pageQuery,
  ...cursorQuery('log'),
}

export const SubjectLogQuery = Type.Object(filters)
export type SubjectLogQuery = Static<typeof SubjectLogQuery>

export const WatchdogLogQuery = Type.Object({
  simId: Type.Optional(Id('Entries of this SIM')),
  poolId: Type.Optional(Id('Entries of this pool')),
  ...filters,
})
export type WatchdogLogQuery = Static<typeof WatchdogLogQuery>

export const WatchdogMetadata = strictObject({
  logLevel: codeList('Log levels', LogLevel),
  mode: codeList('Watchdog modes', WatchdogMode),
})
export const watchdogMetadata: Static<typeof WatchdogMetadata> = {
  logLevel: metadataOf(LogLevel),
  mode: metadataOf(WatchdogMode),
}
