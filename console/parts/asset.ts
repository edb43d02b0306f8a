/** Files for browsers. Each has its hash in its name, so it is kept for ever. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyPluginAsync } from 'fastify'
import { serveFixed } from '../../api/http/fixed-answer.ts'

interface Asset {
  readonly path: string
  readonly type: string
  readonly text: string
}

function readAsset(name: string, ending: string, type: string): Asset {
  const text = readFileSync(new URL(`../assets/${name}.${ending}`, import.meta.url), 'utf8')
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 12)
  return { path: `/assets/${name}.${hash}.${ending}`, type, text }
}

export const STYLE = readAsset('console', 'css', 'text/css; charset=utf-8')
export const ICON = readAsset('icon', 'svg', 'image/svg+xml')

export const assetRoutes: FastifyPluginAsync = async (app) => {
  for (const { path, type, text } of [STYLE, ICON])
    app.get(
      path,
      { config: { isOpen: true } },
      serveFixed(type, () => text, 'public, max-age=31536000, immutable'),
    )
}
