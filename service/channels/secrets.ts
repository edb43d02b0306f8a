/**
 * The secrets of webhooks at rest. A secret signs each delivery, so it has to be readable: a hash would not do. If the
 * operator sets a key (`WEBHOOK_SECRETS_KEY`), secrets are sealed with AES-256-GCM; otherwise they are stored unsealed.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

const SEALED = 'sealed'
const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16
/** Standard Webhooks asks for 24 to 64 bytes. */
const SECRET_BYTES = 32

/** A new secret, as its receiver gets it. */
export const newSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`

/** Of AES-256. */
const KEY_BYTES = 32

/**
 * Reads keys of 32 bytes in base64, with commas between them.
 *
 * @returns undefined if one of them is none; no keys for an empty text
 */
export function parseSecretsKeys(text: string): readonly Buffer[] | undefined {
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
  const keys = words.map((word) => Buffer.from(word, 'base64'))
  const isKey = (key: Buffer, n: number) => key.length === KEY_BYTES && key.toString('base64') === words[n]
  return keys.every(isKey) ? keys : undefined
}

/** Names a key without disclosing it. */
const nameOf = (key: Buffer): string => createHash('sha256').update(key).digest('hex').slice(0, 8)

/**
 * Seals a secret with the first of the keys; without one it stays unsealed.
 *
 * @param tenantId its owner: it cannot be opened for another tenant
 */
export function seal(secret: string, tenantId: string, [key]: readonly Buffer[]): string {
  if (key === undefined) return secret
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(tenantId))
  const sealed = Buffer.concat([iv, cipher.update(secret), cipher.final(), cipher.getAuthTag()])
  return [SEALED, nameOf(key), sealed.toString('base64')].join(':')
}

/**
 * Opens a secret sealed by {@link seal}, with any of the keys.
 *
 * @throws Error if none of the keys fits, or if it was changed
 */
export function open(sealed: string, tenantId: string, keys: readonly Buffer[]): string {
  const [mark, name, text = ''] = sealed.split(':')
  if (mark !== SEALED) return sealed
  const key = keys.find((one) => nameOf(one) === name)
  if (key === undefined) {
    throw new Error(`a webhook's secret is sealed with the key ${name}, which WEBHOOK_SECRETS_KEY does not have`)
  }
  const bytes = Buffer.from(text, 'base64')
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES))
    .setAAD(Buffer.from(tenantId))
    .setAuthTag(bytes.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString()
}
