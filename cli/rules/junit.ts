/** Results of tests as JUnit XML, as CI systems read it. */
import type { TestResult } from '../../rules/timeline/run-tests.ts'

/** The document. Pure. */
export function junitOf(results: readonly TestResult[]): string {
  const suites = [...Map.groupBy(results, ({ file }) => file)].map(([file, tests]) => {
    const failed = tests.filter(({ failures }) => failures.length > 0).length
    const cases = tests.map((test) => caseOf(test)).join('')
    return `  <testsuite name="${escaped(file)}" tests="${tests.length}" failures="${failed}">\n${cases}  </testsuite>\n`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join('')}</testsuites>\n`
}

function caseOf({ file, title, failures }: TestResult): string {
  const name = `    <testcase classname="${escaped(file)}" name="${escaped(title)}"`
  if (failures.length === 0) return `${name}/>\n`
  const said = failures.map(({ at, expected, got }) => `${file}:${at?.line ?? 1}: expected ${expected}; got ${got}`)
  return `${name}>\n      <failure message="${escaped(said[0] ?? '')}">${escaped(said.join('\n'))}</failure>\n    </testcase>\n`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** Text for XML: marks as entities, and what XML 1.0 has no place for as U+FFFD. */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
    .replaceAll(/[&<>"']/g, (mark) => ENTITIES[mark] ?? mark)
