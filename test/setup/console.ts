/**
 * The `console` blocks of a document: what is typed after `$ `, and what is printed.
 *
 * In what is printed `…` stands for any text of a line, and a line that is only `…` for any lines.
 */

export interface Block {
  /** What stands behind the fence: `json`, `console`, or a language with the path of a file, `json sim/a.json`. */
  readonly info: string
  readonly text: string
  /** Line of the document that it begins in, from 1. */
  readonly line: number
}

interface Typed {
  readonly command: string
  readonly printed: string
  readonly line: number
}

/** The fenced blocks of a Markdown document, in order. */
export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = []
  let open: { info: string; line: number; lines: string[] } | null = null
  for (const [n, line] of markdown.split('\n').entries()) {
    if (!line.startsWith('```')) open?.lines.push(line)
    else if (open === null) open = { info: line.slice(3), line: n + 1, lines: [] }
    else {
      blocks.push({ info: open.info, line: open.line, text: `${open.lines.join('\n')}\n` })
      open = null
    }
  }
  return blocks
}

/** What is typed in a console block. A line that ends with `\` goes on in the next. */
export function typedIn({ text, line }: Block): Typed[] {
  const typed: { command: string; printed: string[]; line: number }[] = []
  let goesOn = false
  for (const [n, one] of text.trimEnd().split('\n').entries()) {
    const last = typed.at(-1)
    if (one.startsWith('$ ')) typed.push({ command: one.slice(2), printed: [], line: line + n + 1 })
    else if (last === undefined) throw new Error(`line ${line + n + 1}: a console block begins with "$ "`)
    else if (goesOn) last.command += `\n${one}`
    else last.printed.push(one)
    goesOn = one.endsWith('\\') && (one.startsWith('$ ') || goesOn)
  }
  return typed.map((one) => ({ ...one, printed: one.printed.join('\n').trimEnd() }))
}

/** Whether what was printed is what the document shows. */
export function isAsShown(shown: string, printed: string): boolean {
  const pattern = shown
    .split('\n')
    .map((line) => (line.trim() === '…' ? '(?:.*\\n)*?' : `${line.split('…').map(escaped).join('.*')}\\n`))
    .join('')
  return new RegExp(`^${pattern}$`, 'u').test(printed.trimEnd() === '' ? '\n' : `${printed.trimEnd()}\n`)
}

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
