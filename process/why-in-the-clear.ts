/**
 * Finds addresses that would carry keys, passwords or secret links unencrypted to another machine (decision 0082). Mails have
 * their own setting (adapters/channels/mail/transport.ts). Temporal gets no key. Pure.
 */
import { isThisMachine } from '../domain/networks.ts'

/** The condition for each setting with an address on another machine. */
const ENCRYPTED: Readonly<Record<string, string>> = {
  DATABASE_URL: 'have sslmode=verify-full',
  DATABASE_DIRECT_URL: 'have sslmode=verify-full',
  REDIS_URL: 'be rediss://',
  SERVICE_URL: 'be https://',
  SERVICE_BASE_URL: 'be https://',
  SERVICE_INTERNAL_URL: 'be https://',
  CONSOLE_URL: 'be https://',
  CARRIER_URL: 'be https://',
}
/** Values of `sslmode` that never fall back to an unencrypted connection. */
const SSL_MODES: ReadonlySet<string | null> = new Set(['require', 'verify-ca', 'verify-full', 'no-verify'])

/** Why a URL, or several with commas, needs CONNECTION_TLS=optional; undefined if it does not. */
export function whyInTheClear(name: string, value: string): string | undefined {
  const expected = ENCRYPTED[name]
  if (expected === undefined) return undefined
  const urls = name.startsWith('SERVICE_') ? value.split(',') : [value]
  if (urls.every(staysSecret)) return undefined
  return (
    `must ${expected}, because keys or passwords go over it to another machine; or set CONNECTION_TLS=optional where ` +
    'the network itself keeps them secret'
  )
}

/** Whether a connection to a URL is encrypted or local. True for other text: it is refused elsewhere. */
function staysSecret(text: string): boolean {
  const url = URL.parse(text.trim())
  if (url === null || /^(https|rediss):$/.test(url.protocol)) return true
  const asked = url.searchParams
  if (/^postgres(ql)?:$/.test(url.protocol) && SSL_MODES.has(asked.get('sslmode'))) return true
  // Drivers also read a host in the query. A host that begins with a slash is the folder of a socket.
  const hosts = [url.hostname, asked.get('host') ?? ''].filter((host) => host !== '')
  return hosts.every((host) => /^(\/|%2f)/i.test(host) || isThisMachine(host))
}
