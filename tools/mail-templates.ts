/**
 * Compiles the mail templates: from MJML in `adapters/channels/mail/templates/` to HTML with Handlebars expressions. The HTML is
 * committed beside the MJML, so that the service needs no MJML. `npm run generate` writes it, `npm run check` compares
 * it.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import mjml2html from 'mjml'

const FOLDER = 'adapters/channels/mail/templates'
const NAMES = ['alert', 'digest', 'sign-in', 'summary'] as const

export interface GeneratedFile {
  /** Path from the root of the repository. */
  readonly path: string
  readonly content: string
}

/**
 * Compiles every mail template.
 *
 * @throws Error with the line, if a template breaks a rule of MJML
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
    // No fonts from other hosts: a mail makes no request to any server.
    fonts: {},
  })
  const mark = `{{!-- Generated from ${name}.mjml by tools/mail-templates.ts: do not edit. --}}`
  return { path: `${FOLDER}/${name}.generated.html`, content: `${mark}\n${tidy(html)}\n` }
}

/** One element a line, for readable diffs. Removes blanks at line ends and empty lines. */
const tidy = (html: string): string =>
  html
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n')
