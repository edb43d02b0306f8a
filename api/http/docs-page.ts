/** The page that shows the OpenAPI description. */
import { randomBytes } from 'node:crypto'
import scalar from '@scalar/fastify-api-reference'
import type { FastifyRequest } from 'fastify'
import type { App } from './app.ts'

/**
 * Serves a page at `/docs` that shows the description. The page loads nothing from other hosts, and sends them nothing.
 */
export async function useDocsPage(app: App): Promise<void> {
  // The page is built once, with one nonce. Each response gets a nonce of its own in its place.
  const written = nonce()
  const nonces = new WeakMap<FastifyRequest, string>()
  app.addHook('onSend', async (request, _reply, payload) => {
    const own = nonces.get(request)
    return own === undefined || typeof payload !== 'string' ? payload : payload.replaceAll(written, own)
  })
  await app.register(scalar, {
    routePrefix: '/docs',
    hooks: {
      onRequest: (request, reply, done) => {
        const own = nonce()
        nonces.set(request, own)
        reply.header('content-security-policy', policyWith(own))
        done()
      },
    },
    configuration: {
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
      hideClientButton: true,
      showDeveloperTools: 'never',
      nonce: written,
    },
  })
}

const nonce = (): string => randomBytes(18).toString('base64url')

/** Allows only the scripts that the page was sent with. Its styles are made in the browser, without a nonce. */
const policyWith = (own: string): string =>
  `default-src 'self'; script-src 'nonce-${own}'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; ` +
  "font-src 'self' data:; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'"
