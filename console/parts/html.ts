import type { html } from 'hono/html'

/** A part of a page. Text in it is escaped. */
export type Html = ReturnType<typeof html>
