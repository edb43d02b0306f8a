import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../../setup/folder.ts'
import { openShell, type Shell } from '../../setup/shell.ts'

let shell: Shell
beforeEach(async () => {
  const folder = await temporaryFolder()
  shell = await openShell({ folder, cwd: folder, env: process.env })
  onTestFinished(shell.end)
})

describe('run', () => {
  test('keeps variables, functions and jobs', async () => {
    await shell.run('what=meter\nsaid() { echo "$what $1" >&2; }\nsleep 600 &\n')

    expect(await shell.run('said 7; jobs -p | wc -l')).toEqual({
      code: 0,
      printed: expect.stringMatching(/^meter 7\n *1\n$/),
    })
  })

  test.each([
    ['a command', 'echo one\nls /no/folder 2>&-\necho two\n', 2],
    ['a pipe', 'echo one\n(exit 3) | cat\necho two\n', 3],
    ['an assignment', 'echo one\nx=$(exit 4)\necho two\n', 4],
  ])('ends at %s that fails', async (_, text, code) => {
    expect(await shell.run(text)).toEqual({ code, printed: 'one\n' })
  })
})

describe('ask', () => {
  test('may fail, and changes no variables', async () => {
    await shell.run('what=meter')

    expect(await shell.ask('echo $what; what=lift; exit 3')).toEqual({ code: 3, printed: 'meter\n' })
    expect(await shell.ask('echo $what')).toEqual({ code: 0, printed: 'meter\n' })
  })
})
