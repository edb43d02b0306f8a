import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { compileTemplates } from '../../../tools/mail-templates.ts'

describe('compileTemplates', () => {
  test('makes the templates that are committed, each marked as generated', async () => {
    const made = await compileTemplates()

    const folder = readdirSync('adapters/channels/mail/templates').filter((name) => name.endsWith('.generated.html'))
    expect(made.map(({ path }) => path)).toEqual(
      folder.toSorted().map((name) => `adapters/channels/mail/templates/${name}`),
    )
    for (const { path, content } of made) {
      expect(readFileSync(path, 'utf8'), path).toBe(content)
      expect(content.split('\n')[0]).toMatch(/^\{\{!-- Generated from [\w-]+\.mjml by .*: do not edit\. --\}\}$/)
    }
  })
})
