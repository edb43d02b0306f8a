/** Walks through a console by its links, as a person would, and looks at one page of each kind. */
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { openPage, type Shown, signIn } from './chromium.ts'
import { faultsAt } from './page-faults.ts'

export interface Walk {
  /** The path of the first page of each kind: `/t/:id/sims/:id`, and the names of its query. */
  readonly seen: ReadonlyMap<string, string>
  /** Of pages as sent, and as shown in each way. */
  readonly faults: readonly string[]
}

/** @param at the console's URL, without a trailing slash, and the tenant to begin at @param key of the person that walks */
export const walkConsole = (browser: Browser, at: { readonly url: string; readonly tenantId: string }, key: string) =>
  signedIn({ browser, url: at.url }, key, (opened) => walk(opened, at))

/** Pictures of pages, as they are shown at first. @param paths by name of the file @param folder where they are put */
export const takePictures = (
  browser: Browser,
  { url, key, folder }: { readonly url: string; readonly key: string; readonly folder: string },
  paths: Readonly<Record<string, string>>,
): Promise<void> =>
  signedIn({ browser, url }, key, async ({ page }) => {
    await page.emulateMedia({ colorScheme: 'light' })
    for (const [name, path] of Object.entries(paths)) {
      await page.setViewportSize({ width: name.endsWith('-phone') ? 360 : 1280, height: 800 })
      await page.goto(url + path)
      await page.screenshot({ path: join(folder, `${name}.png`) })
    }
  })

type Opened = Awaited<ReturnType<typeof openPage>>

async function signedIn<T>(shown: Shown, key: string, look: (opened: Opened) => Promise<T>): Promise<T> {
  const opened = await openPage(shown)
  try {
    await signIn(opened.page, key)
    return await look(opened)
  } finally {
    await opened.context.close()
  }
}

async function walk(
  { context, page, said }: Opened,
  { url, tenantId }: { readonly url: string; readonly tenantId: string },
): Promise<Walk> {
  const seen = new Map<string, string>()
  const faults: string[] = []
  const next = [`/t/${tenantId}`]
  for (let path = next.shift(); path !== undefined; path = next.shift()) {
    const kind = kindOf(path)
    if (seen.has(kind)) continue
    seen.set(kind, path)
    if (isFile(path)) {
      const status = (await context.request.get(url + path)).status()
      if (status !== 200) faults.push(`${path}: ${status}`)
      continue
    }
    const found = await faultsAt(page, url + path)
    faults.push(...[...found, ...said.splice(0)].map((fault) => `${path}: ${fault}`))
    next.push(...(await linksOn(page)))
  }
  return { seen, faults }
}

const isFile = (path: string): boolean => /\.\w+($|\?)/.test(path)

/** Paths of the console that the page leads to. */
const linksOn = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(
    `[...document.links].filter((a) => a.origin === location.origin).map((a) => a.pathname + a.search)`,
  )

/** Segments of paths that stand for one of many: numbers, cycles, UUIDs, ids of workflows and of mails. */
const ONE_OF_MANY = /^(\d+|\d{4}-\d{2}|[\da-f]{8}-[\da-f-]{27}|[a-z-]+(:|%3A).+|%3C.+)$/i

function kindOf(path: string): string {
  const { pathname, searchParams } = new URL(path, 'http://simherd.invalid')
  const segments = pathname.split('/').map((segment, n, all) => {
    const isNamed = all[n - 1] === 't' || (all[n - 1] === 'rules' && segment !== 'versions')
    return isNamed || ONE_OF_MANY.test(segment) ? ':id' : segment
  })
  return [segments.join('/'), ...[...searchParams.keys()].toSorted()].join(' ')
}
