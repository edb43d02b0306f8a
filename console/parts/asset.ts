/** Files for browsers. Each has its hash in its name, so it is kept for ever. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parse } from 'node:path'
import type { FastifyPluginAsync } from 'fastify'
import { serveFixed } from '../../api/http/fixed-answer.ts'

interface Asset {
  readonly path: string
  readonly type: string
  readonly bytes: Buffer
}

function makeAsset(file: string, type: string, bytes: Buffer): Asset {
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 12)
  const { name, ext } = parse(file)
  return { path: `/assets/${name}.${hash}${ext}`, type, bytes }
}
/** @param url of a file */
const readAsset = (url: string, type: string): Asset => makeAsset(url, type, readFileSync(new URL(url)))

const SCRIPT = 'text/javascript; charset=utf-8'
/** Its Latin letters: others are in a font of the reader's machine. */
const FONT = readAsset(
  import.meta.resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2'),
  'font/woff2',
)
/** Knows the font by its path here. */
const STYLE_TEXT = readFileSync(new URL('../assets/console.css', import.meta.url), 'utf8').replace(
  'inter.woff2',
  FONT.path,
)
export const STYLE = makeAsset('console.css', 'text/css; charset=utf-8', Buffer.from(STYLE_TEXT))
export const ICON = readAsset(import.meta.resolve('../assets/icon.svg'), 'image/svg+xml')
export const FIND_SCRIPT = readAsset(import.meta.resolve('../assets/find.js'), SCRIPT)
/** In the order in which a page needs them. */
export const LIVE_SCRIPTS = [
  readAsset(import.meta.resolve('idiomorph/dist/idiomorph.min.js'), SCRIPT),
  readAsset(import.meta.resolve('../assets/live.js'), SCRIPT),
]
export const ASSETS = [STYLE, FONT, ICON, FIND_SCRIPT, ...LIVE_SCRIPTS]

export const assetRoutes: FastifyPluginAsync = async (app) => {
  for (const { path, type, bytes } of ASSETS)
    app.get(
      path,
      { config: { isOpen: true } },
      serveFixed(type, () => bytes, 'public, max-age=31536000, immutable'),
    )
}
