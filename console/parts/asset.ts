/** Files for browsers. Each has its hash in its name, so it is kept for ever. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parse } from 'node:path'
import type { FastifyPluginAsync } from 'fastify'
import { serveFixed } from '../../api/http/fixed-answer.ts'

interface Asset {
  readonly path: string
  readonly type: string
  readonly text: string
}

function readAsset(file: URL, type: string): Asset {
  const text = readFileSync(file, 'utf8')
  const hash = createHash('sha256').update(text).digest('base64url').slice(0, 12)
  const { name, ext } = parse(file.pathname)
  return { path: `/assets/${name}.${hash}${ext}`, type, text }
}

const ASSETS = new URL('../assets/', import.meta.url)
const SCRIPT = 'text/javascript; charset=utf-8'
export const STYLE = readAsset(new URL('console.css', ASSETS), 'text/css; charset=utf-8')
export const ICON = readAsset(new URL('icon.svg', ASSETS), 'image/svg+xml')
/** In the order in which a page needs them. */
export const SCRIPTS = [
  readAsset(new URL(import.meta.resolve('idiomorph/dist/idiomorph.min.js')), SCRIPT),
  readAsset(new URL('live.js', ASSETS), SCRIPT),
]

export const assetRoutes: FastifyPluginAsync = async (app) => {
  for (const { path, type, text } of [STYLE, ICON, ...SCRIPTS])
    app.get(
      path,
      { config: { isOpen: true } },
      serveFixed(type, () => text, 'public, max-age=31536000, immutable'),
    )
}
