/** The reasons that hold back mails or suspensions of an alert, in words. */
import type { Alert } from './alert.ts'

interface ReasonWords {
  /** For a row of a list. */
  readonly brief: string
  /** The rest of a sentence, without a full stop. */
  readonly words: string
}

export const WITHHELD: Readonly<Record<Alert['withheld'][number], ReasonWords>> = {
  silenced: { brief: 'silenced', words: 'a silence holds back its mails; what still fires at its end is mailed' },
  inhibited: { brief: 'another says more', words: 'another alert that is mailed says more of the same' },
  unsubscribed: { brief: 'level not mailed', words: 'the tenant wants no mails of alerts of this level' },
  held: { brief: 'held by the guard', words: 'its rule began to fire on many at once, and a person has to decide' },
  nodata: {
    brief: 'no usage comes in',
    words: 'no usage is received: it stays as it is, and nothing is suspended or brought back',
  },
  stage: { brief: 'stage of its rule', words: "its rule's stage lets it do no more" },
  mode: { brief: 'watchdog mode', words: 'the watchdog mode of its subject lets its rule do no more' },
}
