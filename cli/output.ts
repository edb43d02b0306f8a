/** `-o json`: the answer of a command for programs, as the service gave it. */
import { Option } from 'commander'
import { print } from './print.ts'

export interface OutputFlags {
  /** Default: text. */
  readonly output?: 'text' | 'json'
}

export const OUTPUT = new Option('-o, --output <format>', 'text, or json for programs')
  .choices(['text', 'json'])
  .default('text')

export const isJson = ({ output }: OutputFlags): boolean => output === 'json'

export const printJson = (answer: unknown): void => print(JSON.stringify(answer, null, 2))

/** Prints an answer, as JSON or in lines. */
export function printAnswer<T>(flags: OutputFlags, answer: T, linesOf: (answer: T) => readonly string[]): void {
  if (isJson(flags)) printJson(answer)
  else for (const line of linesOf(answer)) print(line)
}
