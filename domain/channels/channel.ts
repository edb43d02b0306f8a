/** Channels: ways by which facts leave the service. */
import type { IpNetwork } from '../networks.ts'

/**
 * What came of an attempt to send.
 *
 * `later`: no answer, or one that asks for patience. `refused`: the target does not take this, and may take others.
 * `gone`: there is no such target any more. `ours`: nothing can be sent until the operator has mended it.
 */
export const OUTCOMES = ['delivered', 'later', 'refused', 'gone', 'ours'] as const
export type Outcome = (typeof OUTCOMES)[number]

export interface Attempt {
  readonly outcome: Outcome
  /** The reply code of SMTP or the status of HTTP; null if none came. */
  readonly code: number | null
  /** The answer, or why none came. */
  readonly response: string
  /** The failure in plain words for the tenant; empty if it was delivered. */
  readonly why: string
  /** When the target wants to be asked again, as in the header Retry-After; null: it does not say. */
  readonly retryAfter?: string | null
}

/** A way to send facts to its targets. */
export interface Channel<Fact, Target, Body> {
  /** Makes what is sent of facts. Pure. */
  readonly render: (facts: readonly Fact[]) => Body
  /** Makes one attempt. Never rejects. @param id the same for each attempt */
  readonly send: (body: Body, to: Target, id: string) => Promise<Attempt>
}

export interface EndpointOptions {
  /** Keys of the secrets at rest: the first seals, all open. Empty: secrets are stored unsealed. */
  readonly secretsKeys: readonly Buffer[]
  /** Networks that are not public, but allowed for endpoints. */
  readonly allow: readonly IpNetwork[]
}

/** A tenant's endpoint, as a channel reaches it. */
export interface Endpoint {
  readonly url: string
  /** `whsec_…`; the present one first. Each signs. */
  readonly secrets: readonly string[]
}

/** A channel that sends each event, as JSON in the form of Standard Webhooks, to the endpoints that want its type. */
export type EndpointChannel = Channel<string, Endpoint, string>

/** The channels of endpoints. */
export type EndpointChannelName = 'webhook'
export type EndpointChannels = Readonly<Record<EndpointChannelName, EndpointChannel>>
