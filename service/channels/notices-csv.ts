/** The notices of a mail as CSV for spreadsheets: attached if they are more than its table has. */
import { stringify } from 'csv-stringify/sync'
import { LogLevel, labelOf } from '../../domain/codes.ts'
import { CSV_FORMAT, neutralised } from '../../domain/files/spreadsheet.ts'
import type { AlertNotification } from '../../domain/notifications/notification.ts'

/** Columns of the file, in order. Add new ones at the end. */
const COLUMNS = [
  'at',
  'rule',
  'what',
  'level',
  'subject',
  'id',
  'name',
  'pool',
  'usageMB',
  'limitMB',
  'overageMB',
  'since',
  'message',
] as const

const rowOf = (told: AlertNotification): Record<(typeof COLUMNS)[number], string | number> => ({
  at: told.at,
  rule: told.rule.name,
  what: told.kind,
  level: labelOf(LogLevel, told.level),
  subject: told.subject.kind,
  id: told.subject.id,
  name: told.subject.label,
  pool: told.poolName ?? (told.subject.kind === 'pool' ? told.subject.label : ''),
  usageMB: told.facts.usageMB ?? '',
  limitMB: told.facts.limitMB ?? '',
  overageMB: told.facts.overageMB ?? '',
  since: told.since,
  message: told.message,
})

/** The CSV file, with a header and a byte order mark. */
export const noticesCsv = (notices: readonly AlertNotification[]): string =>
  stringify(notices.map(rowOf), {
    ...CSV_FORMAT,
    header: true,
    columns: [...COLUMNS],
    cast: { string: neutralised },
    bom: true,
  })
