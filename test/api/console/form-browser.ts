/** A console on the harness's database, and a browser without scripts: it keeps cookies and sends forms. */
import { afterAll, beforeAll } from 'vitest'
import type { App } from '../../../api/http/app.ts'
import { askEachTime } from '../../../api/keys/key-cache.ts'
import { sessionsOf } from '../../../api/keys/sessions.ts'
import { buildConsole, type ConsoleOptions } from '../../../console/main.ts'
import type { Harness } from '../harness.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

export interface Browser {
  readonly get: (url: string, headers?: Record<string, string>) => Promise<Answer>
  /** Sends a form, as from a page of the console unless the headers say otherwise. */
  readonly post: (url: string, form: Record<string, string>, headers?: Record<string, string>) => Promise<Answer>
  /** The value of its session's cookie; undefined without one. */
  readonly token: () => string | undefined
}

/** Where links in mails lead. */
const CONSOLE_URL = 'https://console.meadow.example'

/** As a browser sends it from a page of the console. */
export const OWN = { 'sec-fetch-site': 'same-origin' }

const SESSION = '__Host-simherd'

/** @param cookie of a session that it has already */
function openBrowser(app: App, cookie?: string): Browser {
  const jar = new Map(cookie === undefined ? [] : [[SESSION, cookie]])
  const ask = async (method: 'GET' | 'POST', url: string, headers: Record<string, string>, payload?: string) => {
    const kept = jar.size === 0 ? {} : { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') }
    const answer = await app.inject({ method, url, headers: { ...kept, ...headers }, ...(payload && { payload }) })
    for (const { name, value } of answer.cookies) {
      if (value === '') jar.delete(name)
      else jar.set(name, value)
    }
    return { status: answer.statusCode, headers: answer.headers, body: answer.body }
  }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  return {
    get: (url, headers = {}) => ask('GET', url, headers),
    post: (url, fields, headers = OWN) =>
      ask('POST', url, { ...form, ...headers }, new URLSearchParams(fields).toString()),
    token: () => jar.get(SESSION),
  }
}

export interface ConsoleHarness {
  app: App
  open: (cookie?: string) => Browser
  /** A browser that has signed in by this key. */
  signedIn: (key: string) => Promise<Browser>
}

export function useConsole(harness: Harness, more: Partial<ConsoleOptions> = {}): ConsoleHarness {
  const made = {} as ConsoleHarness
  beforeAll(async () => {
    const sessions = sessionsOf(harness.store, askEachTime(harness.store))
    const { outside, inside, callers } = harness
    const limits = { refusalLimit: 0, anonymousLimit: 0 }
    const app = await buildConsole({ outside, inside, callers, sessions, ...limits, url: CONSOLE_URL, ...more })
    const open = (cookie?: string) => openBrowser(app, cookie)
    const signedIn = async (key: string) => {
      const browser = open()
      await browser.post('/sign-in', { key })
      return browser
    }
    Object.assign(made, { app, open, signedIn })
  })
  afterAll(() => made.app.close())
  return made
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
/** Text as it stands in a page. */
export const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '')

/** The paths that links of a page lead to, without entities. */
export const linksIn = (body: string) =>
  [...body.matchAll(/href="([^"]*)"/g)].map(([, href]) => href?.replaceAll('&amp;', '&'))

/** The ids of the rows of a list. */
export const idsIn = (body: string, noun: 'sim' | 'alert' | 'pool') =>
  [...body.matchAll(new RegExp(`id="${noun}-(\\d+)"`, 'g'))].map(([, id]) => Number(id))

/** The value of a hidden field of a page; empty without one. */
export const fieldIn = (body: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(body)?.[1] ?? ''
