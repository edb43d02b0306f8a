/**
 * Mail templates: MJML in `notify/templates/` → HTML with Handlebars places, committed beside it, so that the
 * service needs no MJML. `npm run generate` writes them, `npm run check` compares.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import mjml2html from 'mjml'

const FOLDER = 'notify/templates'
const NAMES = ['alert', 'digest', 'summary'] as const

export interface GeneratedFile {
  /** From the root of the repository. */
  readonly path: string
  readonly content: string
}

/**
 * Compiles every mail template.
 *
 * @throws Error with the line, where a template breaks a rule of MJML
 */
export const compileTemplates = (): Promise<GeneratedFile[]> => Promise.all(NAMES.map(compile))

async function compile(name: string): Promise<GeneratedFile> {
  const folder = join(import.meta.dirname, '..', FOLDER)
  const filePath = join(folder, `${name}.mjml`)
  const { html } = await mjml2html(await readFile(filePath, 'utf8'), {
    filePath,
    validationLevel: 'strict',
    ignoreIncludes: false,
    includePath: folder,
    // No fonts from elsewhere: a mail asks nobody's server for anything.
    fonts: {},
  })
  const mark = `{{!-- Generated from ${name}.mjml by tools/mail-templates.ts: do not edit. --}}`
  return { path: `${FOLDER}/${name}.generated.html`, content: `${mark}\n${tidy(html)}\n` }
}

/** One element a line shows in a diff what changed; blanks at line ends and empty lines show nothing. */
const tidy = (html: string): string =>
  html
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n')
