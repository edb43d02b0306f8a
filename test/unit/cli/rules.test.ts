import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { checkFolder } from '../../../cli/rules/check.ts'
import { diffFolders } from '../../../cli/rules/diff.ts'
import { lintFolder } from '../../../cli/rules/lint.ts'
import { temporaryFolder } from '../../setup/folder.ts'
import { aFile, leaf } from '../rules/samples.ts'

let folder: string
beforeEach(async () => {
  folder = await temporaryFolder()
  await mkdir(join(folder, 'pool'))
})

/** What the command prints, and how it ends. */
async function printed(command: () => Promise<void>) {
  const lines: string[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((line: string) => void lines.push(line))
  const failure = await command().catch((error: Error) => error.message)
  log.mockRestore()
  return { text: lines.join('\n'), failure }
}
const checked = (where: string, output: 'text' | 'json' = 'text') => printed(() => checkFolder(where, { output }))

const write = (name: string, text: string | Buffer) => writeFile(join(folder, 'pool', `${name}.json`), text)
const indented = ({ text }: { readonly text: string }) => JSON.stringify(JSON.parse(text), null, 2)
const wrong = indented(aFile({ conditions: { all: [leaf('overagMB', 'lessThan', 1)] } }))

describe('simherd rules check', () => {
  test('finds no fault in the shipped rules', async () => {
    expect(await checked('')).toEqual({ text: '16 files, 16 rules, 16 test files: no faults', failure: undefined })
  })

  test('prints a line for each fault, with the place in the file', async () => {
    await write('some-rule', wrong)
    await write('other', '{\n  "a": 1, }')

    expect(await checked(folder)).toEqual({
      text: [
        'pool/other.json:2:11: got "Expected double-quoted property name", expected JSON',
        'pool/some-rule.json:8:9: /conditions/all/0/fact: got "overagMB", expected a fact of the subject pool (did you mean overageMB?)',
      ].join('\n'),
      failure: '2 faults in 2 of 2 files',
    })
  })

  test('prints what the book of rules shows', async () => {
    const shipped = await readFile('rules/pool/pool-overage.json', 'utf8')
    await write('pool-overage', shipped.replace('"overageMB"', '"overagMB"'))

    expect(await readFile('docs/rules.md', 'utf8')).toContain(`\n${(await checked(folder)).text}\n`)
  })

  test('prints faults as JSON for programs', async () => {
    await write('some-rule', wrong)

    expect(JSON.parse((await checked(folder, 'json')).text)).toMatchObject({
      files: 1,
      rules: [],
      faults: [{ file: 'pool/some-rule.json', pointer: '/conditions/all/0/fact', at: { line: 8, column: 9 } }],
    })
  })

  test('skips a byte order mark, in tests too', async () => {
    await write('some-rule', `\uFEFF${aFile().text}`)
    await write('some-rule.test', `\uFEFF{"rules": ["some-rule"], "tests": 7}`)

    const { text } = await checked(folder)

    expect(text.split('\n')).toEqual([expect.stringMatching(/^pool\/some-rule\.test\.json:1:26: \/tests: got 7/)])
  })

  test.each([
    ['Latin-1', Buffer.from('{\n  "name": "some-rule",\n  "description": "Zürich"\n}', 'latin1'), 3, 'is not UTF-8'],
    ['UTF-16', Buffer.from(`\uFEFF${aFile().text}`, 'utf16le'), 1, 'looks like UTF-16'],
  ])('finds a fault in %s, with its line', async (_, bytes, line, why) => {
    for (const name of ['some-rule', 'some-rule.test']) {
      await write('some-rule', aFile().text)
      await write(name, bytes)
      const { text, failure } = await checked(folder)

      const fault = `pool/${name}\\.json:${line}:1: got "other bytes", expected text in UTF-8 .*${why}.*`
      expect(text).toMatch(new RegExp(`^${fault}$`))
      expect(failure).toContain('1 fault in 1 of')
    }
  })

  test('shows a byte order mark that is not at the start', async () => {
    await write('some-rule', `\uFEFF\uFEFF${aFile().text}`)

    expect((await checked(folder)).text).toContain('\\uFEFF')
  })

  test('says which folder cannot be read', async () => {
    expect((await checked(join(folder, 'none'))).failure).toContain(`cannot read the rule files in ${folder}/none`)
  })
})

describe('simherd rules lint', () => {
  const linted = (strict?: true) => printed(() => lintFolder(folder, { output: 'text', ...(strict ? { strict } : {}) }))

  test('prints a line for each finding, and fails only if it is strict', async () => {
    await write('some-rule', indented(aFile({}, { once: 'episode' })))
    const line =
      'pool/some-rule.json:16:5: no-clear: usagePct greaterThanInclusive 80: what hovers there begins and ends again and again; give it a clear or a keepFiring'

    expect(await linted()).toEqual({ text: line, failure: undefined })
    expect(await linted(true)).toEqual({ text: line, failure: expect.stringContaining('1 finding') })
  })

  test('checks the rules first', async () => {
    await write('some-rule', wrong)

    expect((await linted()).failure).toBe('1 fault in 1 of 1 files')
  })
})

describe('simherd rules diff', () => {
  const differing = (before: string, after: string) => printed(() => diffFolders(before, after, { output: 'text' }))

  test('prints what differs by meaning', async () => {
    const shipped = await readFile('rules/pool/pool-overage.json', 'utf8')
    await write('pool-overage', shipped.replace('"Critical"', '"Warning"'))

    expect((await differing('rules/pool', join(folder, 'pool'))).text.split('\n')).toEqual([
      '- pool-burn-rate',
      '- pool-forecast-overage',
      '~ pool-overage',
      '    what, level: Critical → Warning',
      '- pool-top-sim',
      '- pool-usage-warning',
    ])
    expect((await differing('rules', 'rules')).text).toBe('no difference in meaning')
  })
})
