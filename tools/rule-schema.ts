/** The schemas of rule files and of shared conditions, for editors, beside the rules and in the example of a repository. */
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { RULE_SCHEMA, ruleFileSchema, sharedConditionSchema } from '../rules/load/rule-file-schema.ts'
import { TEST_SCHEMA, testFileSchema } from '../rules/timeline/test-file.ts'
import type { GeneratedFile } from './mail-templates.ts'

/** Where rules are whose authors' editors look for the schemas. */
const FOLDERS = ['rules', 'examples/rules-repository/rules']

export const ruleSchemaFiles = (): GeneratedFile[] =>
  [
    laidOut(RULE_SCHEMA, ruleFileSchema()),
    laidOut('shared-condition.schema.json', sharedConditionSchema()),
    laidOut(TEST_SCHEMA, testFileSchema()),
  ].flatMap(({ path, content }) => FOLDERS.map((folder) => ({ path: `${folder}/${path}`, content })))

/** By the project's formatter. */
function laidOut(path: string, schema: unknown): GeneratedFile {
  const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome')
  const content = execFileSync(process.execPath, [biome, 'format', `--stdin-file-path=${path}`], {
    cwd: join(import.meta.dirname, '..'),
    input: JSON.stringify(schema, undefined, 2),
    encoding: 'utf8',
  })
  return { path, content }
}
