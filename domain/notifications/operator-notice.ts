/** Notices to the operator of the installation, by mail. Tenants receive none of them. */

import type { GuardScope } from '../enforcement/guard.ts'

export type OperatorNotice =
  /** A rule set in the database that a build's gate refuses. */
  | {
      readonly kind: 'rulesRefused'
      readonly version: number
      /** Version of the service. */
      readonly build: string
      /** The first fault, and how many there are. */
      readonly reason: string
      /** In words: which version is in force while the set is refused. */
      readonly instead: string
    }
  | RulesChanged
  /** A rule that could not be decided for some subjects of a tenant, with the error of one of them. */
  | { readonly kind: 'ruleUndecidable'; readonly rule: string; readonly version: number; readonly error: string }
  | {
      readonly kind: 'mailGivenUp'
      /** Message-ID of a tenant's mail. */
      readonly mailId: string
      readonly recipient: string
      readonly subject: string
      /** The server's last words, or why the mail could not be sent. */
      readonly response: string
    }
  /** A tenant's address that the mail server refused: mails to it are given up. */
  | { readonly kind: 'addressRefused'; readonly recipient: string; readonly response: string }
  /** A hold of the guard, which waits for a decision. */
  | {
      readonly kind: 'decisionNeeded'
      readonly holdId: number
      readonly what: GuardScope['what']
      readonly rule: string
      /** Name of the pool; null: about the tenant. */
      readonly pool: string | null
      /** When the hold lapses, ISO 8601. */
      readonly until: string
    }
  /** The carrier refuses the credentials of some workers since an instant (ISO 8601), with this answer. */
  | { readonly kind: 'carrierRefuses'; readonly since: string; readonly answer: string }

export interface RulesChanged {
  readonly kind: 'rulesChanged'
  readonly version: number
  /** The author given when the set was loaded. */
  readonly author: string
  /** As in the audit trail; null if the service itself put the set in force. */
  readonly actor: string | null
  /** Names of rules. */
  readonly added: readonly string[]
  readonly changed: readonly string[]
  readonly removed: readonly string[]
}

/** A notice in a mail. */
export interface CountedNotice {
  readonly body: OperatorNotice
  /** How often it came about: subjects, or mails; 1 for all others. */
  readonly count: number
  /** Null: about the installation. */
  readonly tenant: { readonly id: string; readonly name: string } | null
}
