/** Chromium, on a console that listens. */
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { buildConsole } from '../../../console/main.ts'
import { isExecutable } from '../../../stack/downloads.ts'
import { requireProgram } from '../../setup/requirements.ts'
import { type Harness, startedApi } from '../harness.ts'

/** Where Debian has it. */
const CHROMIUM = '/usr/bin/chromium'

export const hasChromium = async (suite: string): Promise<boolean> =>
  requireProgram(await isExecutable(CHROMIUM), 'chromium', suite)

export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })

interface Shown {
  browser: Browser
  /** Of the console, without a trailing slash. */
  url: string
}

/** @param more options of the API */
export function useChromium(harness: Harness, more: Parameters<typeof startedApi>[1] = {}): Shown {
  const made = {} as Shown
  const closing: (() => Promise<unknown>)[] = []
  beforeAll(async () => {
    const api = await startedApi(harness, { ...more, console: { host: '127.0.0.1', port: 0, build: buildConsole } })
    closing.push(api.close)
    const browser = await launchChromium()
    closing.push(() => browser.close())
    Object.assign(made, { browser, url: api.consoleUrl ?? '' })
  })
  afterAll(async () => {
    for (const close of closing.reverse()) await close()
  })
  return made
}

/** Signs in at the door, where the page is. */
export async function signIn(page: Page, key: string): Promise<void> {
  // Chromium complains if a field has the focus before it gives the focus to the one that the page names.
  await page.locator('[autofocus]:focus').waitFor()
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
}
