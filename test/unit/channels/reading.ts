/** What a person reads in an HTML mail. */

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#x27;': "'",
  '&#x60;': '`',
  '&#x3D;': '=',
}

/** The text of an HTML mail: each tag becomes a space. Comments, styles and the title are left out. */
export const wordsOf = (html: string): string =>
  html
    .replace(/<!--.*?-->/gs, ' ')
    .replace(/<(style|title)\b.*?<\/\1>/gs, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(?:amp|lt|gt|quot|#x27|#x60|#x3D);/g, (entity) => ENTITIES[entity] ?? entity)
    .replace(/\s+/g, ' ')

export const numbersOf = (words: string): string[] => words.match(/\d(?:[\d.,:-]*\d)?/g) ?? []

export const linksOf = (html: string): string[] =>
  [...html.matchAll(/(?:href|src|background)="([^"]*)"/g)].flatMap(([, link]) => link ?? [])
