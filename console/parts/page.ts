/** The frame of every page, and how a page is sent. */
import type { FastifyReply } from 'fastify'
import { html } from 'hono/html'

/** Text in it is escaped. */
export type Html = ReturnType<typeof html>

interface Page {
  readonly title: string
  readonly main: Html
}

const frame = ({ title, main }: Page): Html => html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Simherd</title>
</head>
<body>
<main>
${main}
</main>
</body>
</html>`

export const sendPage = async (reply: FastifyReply, page: Page): Promise<FastifyReply> =>
  reply.type('text/html; charset=utf-8').send(String(await frame(page)))
