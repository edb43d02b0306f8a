import { expect, test } from 'vitest'
import { junitOf } from '../../../../cli/rules/junit.ts'

test('JUnit XML has no marks of its own in texts', () => {
  const failures = [{ pointer: '', expected: '<a & "b">', got: "]]>\u0000'\ud83d", at: { line: 3, column: 1 } }]
  const xml = junitOf([{ file: 'sim/x.test.json', title: '<&>', failures }])
  expect(xml).toContain('name="&lt;&amp;&gt;"')
  expect(xml).toContain('expected &lt;a &amp; &quot;b&quot;&gt;; got ]]&gt;\ufffd&apos;\ufffd')
  expect(xml).toContain('tests="1" failures="1"')
})
