/** Alerts, as operators see them. */
import { type Static, Type } from 'typebox'
import { codeSchema, LogLevel } from '../codes.ts'
import { cursorQuery } from '../cursor.ts'
import { pageQuery } from '../page.ts'
import { Consequences } from '../rules/explanation.ts'
import {
  Count,
  Id,
  Instant,
  KeyName,
  nullable,
  objectWithExample,
  oneOf,
  optional,
  strictObject,
  Text,
} from '../schema.ts'
import { SUBJECT_KINDS } from '../watchdog/subject.ts'
import { Silence } from './silence.ts'

const OPEN_PHASES = ['pending', 'firing', 'recovering'] as const
const PHASES =
  'pending: `for` is not over; firing: the conditions are met, or `clear` is not met; recovering: no longer met, but `keepFiring` is not over'
export const AlertLevel = codeSchema(
  LogLevel,
  'Level of the alert by the rules in force; 0 if its rule is not in force',
)
const Withheld = oneOf(
  ['silenced', 'inhibited', 'unsubscribed', 'held', 'nodata', 'stage', 'mode'],
  'silenced: a silence holds back its mails; inhibited: another mailed alert covers it; unsubscribed: the tenant gets no mails of this level; held: its rule began to fire on many subjects at once, and the guard waits for a person; nodata: the usage feed is stale, and the alert does not change; stage, mode: the stage of its rule or the watchdog mode of its subject limits its actions',
)
export const RuleName = Text('Name of the rule', 'pool-overage', { minLength: 1, maxLength: 100 })

const EXAMPLE = {
  id: 12,
  rule: 'pool-overage',
  level: LogLevel.Critical,
  ruleVersion: 3,
  subject: { kind: 'pool' as const, id: 7, label: 'Meters north' },
  poolId: 7,
  message: 'Pool Meters north is 340 MB over its capacity.',
  cycle: '2026-11',
  phase: 'firing' as const,
  since: '2026-11-20T12:00:00.000Z',
  metSince: '2026-11-20T12:00:00.000Z',
  times: 1,
  isLogged: true,
  isMailed: true,
  silencedUntil: null,
  withheld: [],
  acknowledgedAt: null,
  acknowledgedBy: null,
  acknowledgedByName: null,
  lastSignal: 'overLimit',
  error: null,
  evaluatedAt: '2026-11-20T12:00:00.000Z',
}

export const Alert = objectWithExample(
  {
    id: Id('Alert'),
    rule: RuleName,
    level: AlertLevel,
    ruleVersion: Count('Version of the rule set that last changed it'),
    subject: strictObject({
      kind: oneOf(SUBJECT_KINDS, 'Kind of subject'),
      id: Count('Id of the SIM, the pool or the tag; 0 for the tenant'),
      label: nullable(
        Type.String({
          description: 'ICCID and tag of the SIM, name of the pool, or pattern of the tag; null for the tenant',
        }),
      ),
    }),
    poolId: nullable(Id('The pool, or the present one of the SIM; null: none')),
    message: nullable(
      Text(
        'Text of the latest report that it fires: to the log, by mail, or of a rule in stage shadow; null: none was due',
        'Pool Meters north is 340 MB over its capacity.',
      ),
    ),
    cycle: nullable(Text('Key of the billing cycle; null: continues over cycles', '2026-11', { maxLength: 32 })),
    phase: oneOf([...OPEN_PHASES, 'resolved'], `${PHASES}; resolved: it has ended`),
    since: Instant('Start of this phase'),
    metSince: Instant('Time since the conditions are met'),
    times: Count('Number of firings, in this cycle or in total'),
    isLogged: Type.Boolean({ description: 'Whether the watchdog log has an entry of the firing' }),
    isMailed: Type.Boolean({ description: 'Whether a notice of the firing is in a mail, or waits for one' }),
    silencedUntil: nullable(Instant('End of the silences of its notice; null: not silenced')),
    withheld: Type.Array(Withheld, { description: 'Reasons why actions of the rule are withheld' }),
    acknowledgedAt: nullable(Instant('Time of the acknowledgement; null: not acknowledged')),
    acknowledgedBy: nullable(Text('Actor that acknowledged it', 'key:6a34354728b4')),
    acknowledgedByName: KeyName,
    lastSignal: nullable(
      Text('Last signal to enforcement: overLimit, delayed (waits for usage), cleared, standDown, would', 'overLimit'),
    ),
    error: nullable(Type.String({ description: 'Fault of the latest evaluation; null if it decided' })),
    evaluatedAt: Instant('Time of the last change'),
  },
  EXAMPLE,
)
export type Alert = Static<typeof Alert>

const Episode = strictObject({
  beganAt: nullable(Instant('Time since its conditions were met, or of its entry in the log; null: not logged')),
  endedAt: nullable(Instant('Its end; null: it has not ended, or its end was not logged')),
  end: nullable(oneOf(['resolved', 'withdrawn'], 'withdrawn: its rule no longer covered the subject; null: no entry')),
  followed: Consequences,
})

/** An alert with its episodes and their consequences. */
export const AlertDetail = objectWithExample(
  {
    ...Alert.properties,
    silences: Type.Array(Silence, { description: 'Open silences that hold back its mails; of an ended alert none' }),
    suspension: nullable(
      strictObject(
        {
          openedAt: Instant('Time of the suspension'),
          until: nullable(oneOf(['renewal', 'manual'], 'renewal: of the billing cycle; manual: until a person acts')),
          workflowId: nullable(Text('Its workflow', 'suspend-on-overage:tf622080bc0a0:1:2026-11')),
        },
        { description: 'Suspension of the SIM by its rule; null: there is none now' },
      ),
    ),
    episodes: Type.Array(Episode, {
      description:
        'The present or last episode first, then at most 19 earlier ones of which it remembers reports. `withheld` is about the first; for earlier ones it is not stored',
    }),
  },
  {
    ...EXAMPLE,
    silences: [],
    suspension: null,
    episodes: [
      {
        beganAt: '2026-11-20T12:00:00.000Z',
        endedAt: null,
        end: null,
        followed: { entries: [], mails: [], tickets: [], workflows: [], holds: [] },
      },
    ],
  },
)
export type AlertDetail = Static<typeof AlertDetail>

/** Which alert is meant: neither a SIM, a pool nor a tag is named for one of the tenant. */
export const AlertNamed = objectWithExample(
  {
    rule: RuleName,
    simId: optional(Id('The SIM')),
    poolId: optional(Id('The pool')),
    tagId: optional(Id('The tag that its rule adds up SIMs by: `subject.id` of the alert')),
  },
  { rule: 'pool-overage', poolId: 7 },
)
export type AlertNamed = Static<typeof AlertNamed>

export const AlertQuery = Type.Object({
  rule: Type.Optional(RuleName),
  level: Type.Optional(AlertLevel),
  phase: Type.Optional(oneOf(OPEN_PHASES, PHASES)),
  simId: Type.Optional(Id('The SIM')),
  poolId: Type.Optional(Id('The pool itself, without its SIMs')),
  tagId: Type.Optional(Id('The tag itself, without its SIMs')),
  acknowledged: Type.Optional(Type.Boolean({ description: 'Whether a person has acknowledged it' })),
  withheld: Type.Optional(Type.Boolean({ description: 'Whether actions of its rule are withheld' })),
  holdId: Type.Optional(Id('The hold of the guard in which it waits')),
  ended: Type.Optional(
    Type.Boolean({ description: 'true: alerts that have ended, of any cycle. Default: those that have not' }),
  ),
  ...pageQuery,
  ...cursorQuery('alerts'),
})
export type AlertQuery = Static<typeof AlertQuery>
