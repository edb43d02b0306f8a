/** The schema of rule files, for editors: laid out by the project's formatter. */
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { ruleFileSchema } from '../rules/load/rule-file-schema.ts'
import type { GeneratedFile } from './mail-templates.ts'

const PATH = 'rules/rule-file.schema.json'

export function ruleSchemaFile(): GeneratedFile {
  const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome')
  const content = execFileSync(process.execPath, [biome, 'format', `--stdin-file-path=${PATH}`], {
    cwd: join(import.meta.dirname, '..'),
    input: JSON.stringify(ruleFileSchema(), undefined, 2),
    encoding: 'utf8',
  })
  return { path: PATH, content }
}
