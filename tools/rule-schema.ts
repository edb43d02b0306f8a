/** The schemas of rule files and of shared conditions, for editors: laid out by the project's formatter. */
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { RULE_SCHEMA, ruleFileSchema, sharedConditionSchema } from '../rules/load/rule-file-schema.ts'
import type { GeneratedFile } from './mail-templates.ts'

export const ruleSchemaFiles = (): GeneratedFile[] => [
  laidOut(`rules/${RULE_SCHEMA}`, ruleFileSchema()),
  laidOut('rules/shared-condition.schema.json', sharedConditionSchema()),
]

function laidOut(path: string, schema: unknown): GeneratedFile {
  const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome')
  const content = execFileSync(process.execPath, [biome, 'format', `--stdin-file-path=${path}`], {
    cwd: join(import.meta.dirname, '..'),
    input: JSON.stringify(schema, undefined, 2),
    encoding: 'utf8',
  })
  return { path, content }
}
