import type { Attempt } from '../../domain/channels/channel.ts'

const accepted: Attempt = { outcome: 'delivered', code: null, response: '250 OK', why: '' }

/** A mail server that takes every mail. */
export const accepting = { send: () => Promise.resolve(accepted) }
