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

function readAsset(
  name: string,
  ending: string,
  type: string,
  file = new URL(`../assets/${name}.${ending}`, import.meta.url),
): Asset {
  const text = readFileSync(file, 'utf8')
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 12)
  return { path: `/assets/${name}.${hash}.${ending}`, type, text }
}

export const STYLE = readAsset('console', 'css', 'text/css; charset=utf-8')
export const ICON = readAsset('icon', 'svg', 'image/svg+xml')
const SCRIPT = 'text/javascript; charset=utf-8'
/** In the order in which a page needs them. */
export const SCRIPTS = [
  readAsset('idiomorph', 'js', SCRIPT, new URL(import.meta.resolve('idiomorph/dist/idiomorph.min.js'))),
  readAsset('live', 'js', SCRIPT),
]

export const assetRoutes: FastifyPluginAsync = async (app) => {
  for (const { path, type, text } of [STYLE, ICON, ...SCRIPTS])
    app.get(
      path,
      { config: { isOpen: true } },
      serveFixed(type, () => text, 'public, max-age=31536000, immutable'),
    )
}
