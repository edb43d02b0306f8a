/** Alerts, as operators see them. */
import { type Static, Type } from 'typebox'
import { pageQuery } from '../page.ts'
import { Count, Id, Instant, nullable, objectWithExample, oneOf, optional, strictObject, Text } from '../schema.ts'
import { SUBJECT_KINDS } from '../watchdog/subject.ts'

const Phase = oneOf(
  ['pending', 'firing', 'recovering'],
  'pending: its `for` is not over; firing: its conditions are met, or its `clear` is not; recovering: they no longer are, and its `keepFiring` is not over',
)
const Withheld = oneOf(
  ['silenced', 'inhibited', 'unsubscribed', 'held', 'nodata', 'stage', 'mode'],
  'silenced: a silence holds back its mails; inhibited: another alert that is mailed says more of the same; unsubscribed: the tenant wants no mails of alerts of its level; held: its rule began to fire on many subjects at once, and the guard waits for a person; nodata: the usage feed is stale, and it stays as it is; stage, mode: its rule may not do all it asks for, by its stage or the watchdog mode of its subject',
)
const Rule = Text('Name of the rule', 'pool-overage', { minLength: 1, maxLength: 100 })

export const Alert = objectWithExample(
  {
    rule: Rule,
    ruleVersion: Count('Version of the rule set that last changed it'),
    subject: strictObject({
      kind: oneOf(SUBJECT_KINDS, 'What it is about'),
      id: Count('Id of the SIM or the pool; 0 for the tenant'),
      label: nullable(
        Type.String({ description: 'ICCID and tag of the SIM, or name of the pool; null for the tenant' }),
      ),
    }),
    cycle: nullable(Text('Key of the billing cycle; null where it goes on over cycles', '2026-11', { maxLength: 32 })),
    phase: Phase,
    since: Instant('Since when it is in this phase'),
    metSince: Instant('Since when its conditions are met'),
    times: Count('How often it has fired in this cycle, or in all'),
    isLogged: Type.Boolean({ description: 'Whether the watchdog log says that it fires' }),
    isMailed: Type.Boolean({ description: 'Whether a notice that it fires was given to a mail, or waits for one' }),
    silencedUntil: nullable(Instant('Until when silences hold back its notice; null: none does')),
    withheld: Type.Array(Withheld, { description: 'Why not all is told or asked for that its rule says' }),
    acknowledgedAt: nullable(Instant('When somebody acknowledged it; null: nobody has')),
    acknowledgedBy: nullable(Text('Who acknowledged it', 'key:6a34354728b4')),
    lastSignal: nullable(
      Text(
        'What enforcement was last told: overLimit, delayed (it waits for usage), cleared, standDown, would',
        'overLimit',
      ),
    ),
    error: nullable(Type.String({ description: 'Why the latest evaluation could not decide; null if it did' })),
    evaluatedAt: Instant('When it last changed'),
  },
  {
    rule: 'pool-overage',
    ruleVersion: 3,
    subject: { kind: 'pool', id: 7, label: 'Meters north' },
    cycle: '2026-11',
    phase: 'firing',
    since: '2026-11-20T12:00:00.000Z',
    metSince: '2026-11-20T12:00:00.000Z',
    times: 1,
    isLogged: true,
    isMailed: true,
    silencedUntil: null,
    withheld: [],
    acknowledgedAt: null,
    acknowledgedBy: null,
    lastSignal: 'overLimit',
    error: null,
    evaluatedAt: '2026-11-20T12:00:00.000Z',
  },
)
export type Alert = Static<typeof Alert>

/** Which alert is meant: neither a SIM nor a pool is named for one of the tenant. */
export const AlertNamed = objectWithExample(
  {
    rule: Rule,
    simId: optional(Id('The SIM')),
    poolId: optional(Id('The pool')),
  },
  { rule: 'pool-overage', poolId: 7 },
)
export type AlertNamed = Static<typeof AlertNamed>

export const AlertQuery = Type.Object({
  rule: Type.Optional(Rule),
  phase: Type.Optional(Phase),
  simId: Type.Optional(Id('The SIM')),
  poolId: Type.Optional(Id('The pool itself, without its SIMs')),
  ...pageQuery,
})
export type AlertQuery = Static<typeof AlertQuery>
