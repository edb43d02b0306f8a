/** Every command that the documents and the mails show is one of `simherd`, with options that it has. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { program } from '../../../cli/program.ts'

const documents = [
  'README.md',
  ...readdirSync('docs').flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
]

/** What begins with `npx simherd` or `node cli/simherd.js` at the start of a line, in a table or between backquotes. */
const commandsIn = (text: string): string[] =>
  [...text.matchAll(/(?:npx simherd|node cli\/simherd\.js)(?: ([^`|\n]*))?/g)].map(([, command = '']) =>
    command.replace(/ #.*$/, '').trim(),
  )

/** What is wrong with a command line; null if nothing is. */
function faultOf(line: string): string | null {
  const words = line.match(/"[^"]*"|'[^']*'|\S+/g) ?? []
  let command: Command = program
  let n = 0
  for (; n < words.length; n += 1) {
    const next = command.commands.find((one) => one.name() === words[n])
    if (next === undefined) break
    command = next
  }
  const word = words[n]
  const isShown = word === undefined || word === '…' || word === '--help'
  if (isShown) return null
  const hasDefault = command.commands.length > 0 && word.startsWith('-')
  const named = hasDefault ? (command.commands.find((one) => one.name() === 'list') ?? command) : command
  if (!word.startsWith('-') && named.commands.length > 0) return `${named.name()} has no command ${word}`
  const options = words.slice(n).filter((one) => one.startsWith('--'))
  const unknown = options.find((one) => !named.options.some(({ long }) => long === one.split('=')[0]))
  return unknown === undefined ? null : `${named.name()} has no option ${unknown}`
}

describe('the commands in', () => {
  test.each(documents)('%s are there', (file) => {
    const faults = commandsIn(readFileSync(file, 'utf8')).flatMap((line) => {
      const fault = faultOf(line)
      return fault === null ? [] : [`npx simherd ${line}: ${fault}`]
    })

    expect(faults).toEqual([])
  })

  test('a command that is not there is found', () => {
    expect(faultOf('alerts sow')).toBe('alerts has no command sow')
    expect(faultOf('alerts --tenat t1')).toBe('list has no option --tenat')
    expect(faultOf('silences add --fore P2D')).toBe('add has no option --fore')
    expect(faultOf('alerts ack pool-overage --tenant t1 --pool 7')).toBeNull()
  })
})
