import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readJson } from '../../../domain/json.ts'

const faultOf = (text: string) => {
  const read = readJson(text)
  return 'fault' in read ? read.fault : undefined
}
const TWICE = 'stands twice in its object: give each name once'
const fields = (count: number) => Array.from({ length: count }, (_, n) => `"f${n}":${n}`).join(',')

describe('readJson', () => {
  test.each([
    ['a name', '{"bytesUp":1,"bytesUp":99}', '/bytesUp'],
    ['a name with another between', '{"a":1,"b":2,"a":3}', '/a'],
    ['a name whose value is an object', '{"a":{"b":1},"c":[{"b":2}],"a":{}}', '/a'],
    ['a name inside a list', '[{"a":1},{"b":[{"a":1,"a":2}]}]', '/1/b/0/a'],
    ['a name that is escaped the second time', '{"a":1,"b":2,"\\u0061":3}', '/a'],
    ['a name that is escaped the first time', '{"\\u0061":1,"b":2,"a":3}', '/a'],
    ['a name in two escapes', '{"\\/":1,"\\u002f":2}', '/~1'],
    ['the empty name', '{"":1,"":2}', '/'],
    ['a name with a quote', '{"a\\"b":1,"a\\"b":2}', '/a"b'],
    ['a name of many', `{${fields(120)},"f3":1}`, '/f3'],
    ['a late name of many', `{${fields(120)},"f119":1}`, '/f119'],
    ['the first name past the few', `{${fields(17)},"f16":1}`, '/f16'],
    ['a name beside a deep value', `{"a":${'[{"a":'.repeat(30)}1${'}]'.repeat(30)},"a":1}`, '/a'],
  ])('refuses %s that stands twice', (_, text, pointer) => {
    expect(faultOf(text)).toEqual({ pointer, detail: TWICE })
  })

  test.each([
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":1,"A":2,"a ":3,"aa":4}',
    '{"a":"a","b":"a"}',
    '{"a":["a","a"],"b":1}',
    '{"\\u0061":1,"\\\\u0061":2}',
    `{"x":{${fields(120)}},"y":{${fields(120)}}}`,
    `[{${fields(16)}},{${fields(17)}},{${fields(16)}}]`,
  ])('reads %j', (text) => {
    expect(readJson(text)).toEqual({ value: JSON.parse(text) })
  })

  test.each(['{"__proto__":{"a":1}}', '{"a":[{"\\u005f_proto__":1}]}'])('refuses %j', (text) => {
    expect(faultOf(text)).toMatchObject({ detail: 'is not a name that a field may have' })
  })

  test.each([
    ['{"a":1', /^is no JSON: Expected ',' or '}' after property value in JSON at position 6/],
    ['', /^is no JSON: Unexpected end of JSON input$/],
    ['{"secret":xyz}', /^is no JSON: Unexpected token 'x'$/],
    [`{"secret":"${'s'.repeat(99)}",“a”:1}`, /^is no JSON: Expected double-quoted property name .* position 112/],
    ['{"a":\u00a01}', /^is no JSON: Unexpected token 'U\+00A0'$/],
    ['\uFEFF{}', /^is no JSON: Unexpected token 'U\+FEFF'$/],
    ['\u200b{}', /^is no JSON: Unexpected token 'U\+200B'$/],
  ])('says why %j is no JSON, and quotes nothing else of it', (text, detail) => {
    expect(faultOf(text)).toEqual({ pointer: '', detail: expect.stringMatching(detail) })
  })

  test('finds every name that stands twice, and no other', () => {
    const name = fc.constantFrom('a', 'b', 'at', 'it', 'A', '', 'bytesUp', 'bytesDn', 'upBytes', '\\u0061', 'a\\u0074')
    const value: fc.Arbitrary<string> = fc.letrec<{ value: string; object: string }>((tie) => ({
      value: fc.oneof({ maxDepth: 3 }, fc.constantFrom('1', '"a"', '"\\"a\\":1"', '[]'), tie('object')),
      object: fc
        .array(fc.tuple(name, tie('value')), { maxLength: 6 })
        .map((all) => `{${all.map(([key, inside]) => `"${key}":${inside}`).join(',')}}`),
    })).object
    fc.assert(
      fc.property(value, (text) => {
        // A reader that keeps all fields writes as many as the text has; JSON.parse keeps the last of those that are alike.
        const written = text.match(/"(?:[^"\\]|\\.)*":/g)?.length ?? 0
        let kept = 0
        JSON.parse(text, (_, inside) => {
          if (typeof inside === 'object' && !Array.isArray(inside)) kept += Object.keys(inside).length
          return inside
        })
        expect(faultOf(text)?.detail).toBe(written === kept ? undefined : TWICE)
      }),
    )
  })
})
