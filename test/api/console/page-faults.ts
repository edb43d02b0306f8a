/** Faults of a page in Chromium: HTML, accessibility, width. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { HtmlValidate } from 'html-validate'
import type { Page } from 'playwright-core'

const AXE = readFileSync(new URL('../../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
const standard = new HtmlValidate({ extends: ['html-validate:standard'] })

/** How pages are shown. */
const WAYS = [
  { name: 'light, 1280 wide', media: { media: 'screen', colorScheme: 'light' }, width: 1280 },
  { name: 'dark, 360 wide', media: { media: 'screen', colorScheme: 'dark' }, width: 360 },
  { name: 'printed', media: { media: 'print', colorScheme: 'light' }, width: 794 },
] as const

/** Where the environment asks for pictures of all pages: a folder. */
const PICTURES = process.env['PAGE_PICTURES']

/** Bytes of a page's HTML. */
const MOST_BYTES = 120_000

/** Evaluated in the page, unfolded: findings of axe, a width beyond the window's, and what its panel cuts off. */
const FAULTS = `(async () => {
  for (const one of document.querySelectorAll('main details')) one.open = true
  const runOnly = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
  const { violations } = await axe.run(document, { runOnly })
  const { scrollWidth, clientWidth } = document.documentElement
  const wide = scrollWidth > clientWidth ? [scrollWidth + ' wide of ' + clientWidth] : []
  const isCut = (one) => one.getBoundingClientRect().right > one.closest('.panel').getBoundingClientRect().right
  const panels = [...document.querySelectorAll('.panel')].filter((one) => one.scrollWidth > one.clientWidth)
  const cut = [...document.querySelectorAll('.panel :is(table, input, select, textarea, button)')].filter(isCut).concat(panels)
  return [...cut.map((one) => 'cut off: ' + one.outerHTML.slice(0, 50)), ...violations.map(({ id, nodes }) => id + ': ' + nodes[0].html), ...wide]
})()`

/** Faults of a page, as sent and as shown. DevTools evaluate under any policy of the page. */
export async function faultsOf(page: Page): Promise<string[]> {
  const sent = await page.evaluate<string>('fetch(location.href).then((answer) => answer.text())')
  return [...(await invalidIn(sent)), ...(await shownFaultsOf(page))]
}

/** @param sent HTML of a page */
async function invalidIn(sent: string): Promise<string[]> {
  const { results } = await standard.validateString(sent)
  return results.flatMap(({ messages }) => messages.map(({ message, line }) => `line ${line}: ${message}`))
}

/** Faults of a page as it is shown at the moment. */
export async function shownFaultsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate<string[]>(FAULTS)
}

/** Faults of a page in each way to show it. */
export async function faultsInEachWay(page: Page): Promise<string[]> {
  const faults: string[] = []
  for (const { name, media, width } of WAYS) {
    await page.emulateMedia(media)
    await page.setViewportSize({ width, height: 800 })
    faults.push(...(await shownFaultsOf(page)).map((fault) => `${name}: ${fault}`))
    if (PICTURES !== undefined) await takePicture(page, join(PICTURES, name))
  }
  return faults
}

function takePicture(page: Page, folder: string): Promise<unknown> {
  const { pathname, search } = new URL(page.url())
  const name = `${pathname}${search}`.replaceAll(/[^\w-]+/g, '_').slice(0, 150)
  return page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}

/** Faults of the page of a URL: its status, its HTML as sent, its size, and how it is shown in each way. */
export async function faultsAt(page: Page, url: string): Promise<string[]> {
  const answer = await page.goto(url)
  const sent = (await answer?.text()) ?? ''
  const faults = await invalidIn(sent)
  if (answer?.status() !== 200) faults.push(`${answer?.status()}`)
  if (Buffer.byteLength(sent) > MOST_BYTES) faults.push(`${Buffer.byteLength(sent)} bytes`)
  return [...faults, ...(await faultsInEachWay(page))]
}
