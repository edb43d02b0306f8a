/** Icons of 24 by 24 units, drawn in the colour of the text. A word stands beside each. */
import { html } from 'hono/html'
import type { Html } from './html.ts'

const PATHS = {
  signal:
    'M12 10a2 2 0 1 0 0 4 2 2 0 0 0 0-4M7.8 16.2a6 6 0 0 1 0-8.4M16.2 7.8a6 6 0 0 1 0 8.4M4.9 19.1a10 10 0 0 1 0-14.2M19.1 4.9a10 10 0 0 1 0 14.2',
  overview: 'M4 18a9 9 0 1 1 16 0M12 14l4-5M12 14v.1',
  sim: 'M6 3h8l5 5v12a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM9 12h6v5H9zM12 12v5M9 14.5h6',
  active: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M8.5 12l2.5 2.5 4.5-5',
  suspended: 'M6 4h4v16H6zM14 4h4v16h-4z',
  stock: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18',
  critical: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 8v5M12 16v.1',
  warning: 'M12 4L2.5 20h19zM12 10v4M12 17v.1',
  info: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 11v5M12 8v.1',
  bell: 'M6 16V11a6 6 0 0 1 12 0v5l2 2H4zM10 21h4',
  silence: 'M6 16V11a6 6 0 0 1 9-5.2M18 11v5l2 2H8M10 21h4M4 4l16 16',
  ticket: 'M4 7h16v3.5a1.5 1.5 0 0 0 0 3V17H4v-3.5a1.5 1.5 0 0 0 0-3zM14 7v2M14 11v2M14 15v2',
  mail: 'M4 6h16v12H4zM4 7l8 6 8-6',
  workflow: 'M4 4h6v6H4zM14 14h6v6h-6zM7 10v7h7',
  hold: 'M8 4h8v5l-4 3-4-3zM8 20h8v-5l-4-3-4 3zM6 4h12M6 20h12',
  back: 'M7 4l12 8-12 8z',
  next: 'M4 12h14M13 7l5 5-5 5',
  check: 'M5 12l5 5 9-10',
  no: 'M6 6l12 12M18 6L6 18',
  leave: 'M9 4H5v16h4M10 12h10M16 8l4 4-4 4',
  menu: 'M4 7h16M4 12h16M4 17h16',
} as const
export type IconName = keyof typeof PATHS

export const icon = (name: IconName): Html =>
  html`<svg class="icon" viewBox="0 0 24 24" width="16" height="16" aria-hidden="true"><path d="${PATHS[name]}"/></svg>`
