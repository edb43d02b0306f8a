/** Faults of a page in Chromium: HTML, accessibility, width. */
import { readFileSync } from 'node:fs'
import { HtmlValidate } from 'html-validate'
import type { Page } from 'playwright-core'

const AXE = readFileSync(new URL('../../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
const standard = new HtmlValidate({ extends: ['html-validate:standard'] })

/** Evaluated in the page: findings of axe, a width beyond the window's, and what its panel cuts off. */
const FAULTS = `(async () => {
  const runOnly = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
  const { violations } = await axe.run(document, { runOnly })
  const { scrollWidth, clientWidth } = document.documentElement
  const wide = scrollWidth > clientWidth ? [scrollWidth + ' wide of ' + clientWidth] : []
  const isCut = (one) => one.getBoundingClientRect().right > one.closest('.panel').getBoundingClientRect().right
  const cut = [...document.querySelectorAll('.panel :is(table, input, select, textarea, button)')].filter(isCut)
  return [...cut.map((one) => 'cut off: ' + one.outerHTML.slice(0, 50)), ...violations.map(({ id, nodes }) => id + ': ' + nodes[0].html), ...wide]
})()`

/** Faults of a page, as sent and as shown. DevTools evaluate under any policy of the page. */
export async function faultsOf(page: Page): Promise<string[]> {
  const sent = await page.evaluate<string>('fetch(location.href).then((answer) => answer.text())')
  return [...(await invalidIn(sent)), ...(await shownFaultsOf(page))]
}

/** @param sent HTML of a page */
export async function invalidIn(sent: string): Promise<string[]> {
  const { results } = await standard.validateString(sent)
  return results.flatMap(({ messages }) => messages.map(({ message, line }) => `line ${line}: ${message}`))
}

export async function shownFaultsOf(page: Page): Promise<string[]> {
  await page.evaluate(AXE)
  return page.evaluate<string[]>(FAULTS)
}
