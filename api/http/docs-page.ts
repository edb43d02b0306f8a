/** The page that shows the OpenAPI description. */
import { randomBytes } from 'node:crypto'
import scalar from '@scalar/fastify-api-reference'
import fastify from 'fastify'
import type { App } from './app.ts'
import { once, serveFixed } from './fixed-answer.ts'

/** Serves a page at `/docs` that shows the description. `/` leads there. It loads nothing from other hosts, and sends them nothing. */
export function useDocsPage(app: App): void {
  // The page is made once, with one nonce. Responses get their own nonce in its place.
  const written = nonce()
  const page = once(() => makePage(written))
  const hidden = { schema: { hide: true } }
  app.get('/', hidden, async (_request, reply) => reply.redirect('/docs/', 302))
  app.get('/docs', hidden, async (_request, reply) => reply.redirect('/docs/', 301))
  app.get('/docs/', hidden, async (_request, reply) => {
    const own = nonce()
    const { html } = await page()
    return reply
      .header('content-security-policy', policyWith(own))
      .type('text/html; charset=utf-8')
      .send(html.replaceAll(written, own))
  })
  const script = serveFixed('application/javascript; charset=utf-8', async () => (await page()).script)
  app.get('/docs/js/scalar.js', hidden, script)
}

/** Gets page and script from Scalar's plugin. The plugin itself makes both at each request, without an ETag. */
async function makePage(nonceOfPage: string): Promise<{ readonly html: string; readonly script: string }> {
  const maker = fastify()
  await maker.register(scalar, {
    routePrefix: '/docs',
    configuration: {
      url: '../openapi.json',
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      hideClientButton: true,
      showDeveloperTools: 'never',
      nonce: nonceOfPage,
    },
  })
  const [html, script] = [await maker.inject('/docs/'), await maker.inject('/docs/js/scalar.js')]
  await maker.close()
  return { html: html.body, script: script.body }
}

const nonce = (): string => randomBytes(18).toString('base64url')

/** Allows only the scripts that the page was sent with. Its styles are made in the browser, without a nonce. */
const policyWith = (own: string): string =>
  `default-src 'self'; script-src 'nonce-${own}'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; ` +
  "font-src 'self' data:; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
