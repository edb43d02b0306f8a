import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readServiceKey } from '../../../process/read-service-key.ts'
import { temporaryFolder } from '../../setup/folder.ts'

/** Reads the key from a file with these bytes. */
async function readFrom(bytes: string | Buffer, other = ''): Promise<string> {
  const file = join(await temporaryFolder(), 'key')
  await writeFile(file, bytes)
  return readServiceKey({ SERVICE_KEY_FILE: file, SERVICE_KEY: other })
}

describe('readServiceKey', () => {
  test.each([
    ['a line', 'sim_1_2\n'],
    ['a byte order mark before it', '\uFEFFsim_1_2\r\n'],
  ])('reads a file with %s', async (_, text) => {
    expect(await readFrom(text)).toBe('sim_1_2')
  })

  test.each([
    ['UTF-16', Buffer.from('\uFEFFsim_1_2', 'utf16le'), /SERVICE_KEY_FILE=.*: is not UTF-8, it looks like UTF-16/],
    ['a byte of Latin-1', Buffer.from('sim_1_\n\xE9', 'latin1'), /SERVICE_KEY_FILE=.*: is not UTF-8, line 2/],
    ['nothing', ' \n', /is empty: expected a key/],
    ['two words', 'my key', /expected one, and nothing else/],
  ])('refuses a file with %s', async (_, bytes, message) => {
    await expect(readFrom(bytes)).rejects.toThrow(message)
    expect(await readFrom(bytes, 'sim_3_4')).toBe('sim_3_4')
  })
})
