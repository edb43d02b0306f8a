/** The harness for tests of commands: an internal interface that listens, settings for it, printed lines, a folder. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, vi } from 'vitest'
import { readSettings, type Settings } from '../../../process/settings.ts'
import { type Harness, useHarness } from '../harness.ts'

interface CommandHarness {
  readonly harness: Harness
  readonly settings: Settings
  readonly folder: string
  /** Lines printed in this test. */
  readonly lines: string[]
}

export function useCommandHarness(): CommandHarness {
  const harness = useHarness()
  const all = { harness, lines: [] } as unknown as { -readonly [Name in keyof CommandHarness]: CommandHarness[Name] }
  beforeAll(async () => {
    all.folder = await mkdtemp(join(tmpdir(), 'simherd-'))
    const url = await harness.inside.listen({ host: '127.0.0.1', port: 0 })
    all.settings = { ...readSettings(), SERVICE_INTERNAL_URL: url, SERVICE_KEY: harness.operatorKey }
    vi.spyOn(console, 'log').mockImplementation((line: string) => all.lines.push(line))
  })
  afterAll(async () => {
    vi.restoreAllMocks()
    await rm(all.folder, { recursive: true })
  })
  beforeEach(() => {
    all.lines.length = 0
  })
  return all
}
