/** Chromium, on a console that listens. */
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
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

export interface Shown {
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

/** The door, in a new context, and what its pages should not do: speak in the browser's console, ask others. */
export async function openPage(shown: Shown, shownAs: BrowserContextOptions = {}) {
  const context = await shown.browser.newContext(shownAs)
  const page = await context.newPage()
  const said: string[] = []
  page.on('console', (message) => said.push(message.text()))
  page.on('pageerror', ({ message }) => said.push(message))
  page.on('request', (request) => request.url().startsWith(`${shown.url}/`) || said.push(`asked ${request.url()}`))
  await page.goto(shown.url)
  return { context, page, said }
}

/** Signs in at the door, where the page is, and waits for the page behind it. */
export async function signIn(page: Page, key: string): Promise<void> {
  // Chromium complains if a field has the focus before it gives the focus to the one that the page names.
  await page.locator('[autofocus]:focus').waitFor()
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(({ pathname }) => pathname !== '/sign-in')
}
