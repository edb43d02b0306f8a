/** The keys that encrypt the secrets of webhooks at rest. */

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
