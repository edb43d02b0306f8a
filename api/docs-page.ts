/** The page that shows the description. */
import scalar from '@scalar/fastify-api-reference'
import type { App } from './app.ts'

/** Serves a page at `/docs` that shows the description. It loads nothing from elsewhere, and asks nobody. */
export async function useDocsPage(app: App): Promise<void> {
  await app.register(scalar, {
    routePrefix: '/docs',
    hooks: {
      onRequest: (_request, reply, done) => {
        reply.header('content-security-policy', DOCS_POLICY)
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
    },
  })
}

/** The page has a script of its own in it. */
const DOCS_POLICY =
  "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data: blob:; font-src 'self' data:; worker-src 'self' blob:"
