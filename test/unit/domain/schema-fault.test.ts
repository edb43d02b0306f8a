/** What a schema finds wrong, in words. */
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { expect, test } from 'vitest'
import { codeSchema, WatchdogMode } from '../../../domain/codes.ts'
import { nullable, oneOf } from '../../../domain/schema.ts'
import { faultText, recordFaults, withPlace } from '../../../domain/schema-fault.ts'

const mode = nullable(codeSchema(WatchdogMode, 'Watchdog mode'))
const kind = oneOf(['sim', 'pool', 'tenant'], 'What the rule is evaluated for')
const key = `sim_6a34354728b4_${'s'.repeat(40)}`

test.each<[string, Parameters<typeof faultText>[0], string]>([
  [
    'a code',
    { keyword: 'enum', params: {}, value: 7, schema: mode },
    'got 7, expected 0 (Disabled), 1 (Monitor) or 2 (Enforce)',
  ],
  [
    'a code of the wrong type',
    { keyword: 'type', params: { type: ['integer', 'null'] }, value: 'x', schema: mode },
    'got "x", expected 0 (Disabled), 1 (Monitor) or 2 (Enforce)',
  ],
  ['a word', { keyword: 'enum', params: {}, value: 'sin', schema: kind }, 'got "sin", expected sim, pool or tenant'],
  [
    'a short text',
    { keyword: 'minLength', params: { limit: 2 }, value: 'x', schema: {} },
    'got 1 character, expected at least 2 characters',
  ],
  [
    'a long list',
    { keyword: 'maxItems', params: { limit: 1 }, value: [1, 2], schema: {} },
    'got 2 items, expected at most 1 item',
  ],
  ['a number', { keyword: 'minimum', params: { limit: 1 }, value: 0, schema: {} }, 'got 0, expected at least 1'],
  [
    'a type',
    { keyword: 'type', params: { type: ['integer', 'null'] }, value: {}, schema: {} },
    'got an object, expected an integer or null',
  ],
  [
    'formats',
    { keyword: 'format', params: { format: ['date', 'date-time'] }, value: 'soon', schema: {} },
    'got "soon", expected a day such as 2026-11-20 or an instant such as 2026-11-20T12:00:00Z',
  ],
  [
    'a pattern',
    { keyword: 'pattern', params: { pattern: '^a$' }, value: 'b', schema: { description: 'the letter a' } },
    'got "b", expected the letter a',
  ],
  ['a field left out', { keyword: 'required', params: {}, value: {}, schema: {} }, 'is required'],
  [
    'a key, which is hidden',
    { keyword: 'format', params: { format: 'email' }, value: key, schema: {} },
    'got "sim_6a34354728b4_…", expected an e-mail address',
  ],
])('says what is wrong with %s', (_, fault, text) => {
  expect(faultText(fault)).toBe(text)
})

test('names the field of each fault of a record', () => {
  const fields = { id: Type.Integer({ minimum: 1 }), name: Type.String() }
  const record = { id: 0, country: 'DE' }

  const found = Compile(Type.Object(fields, { additionalProperties: false })).Errors(record)

  expect(recordFaults(found, record, fields).toSorted()).toEqual([
    'country is not a field of this record',
    'id: got 0, expected at least 1',
    'name is required',
  ])
})

test('separates the place from a fault as a sentence does', () => {
  expect(withPlace('/name', 'is required')).toBe('/name is required')
  expect(withPlace('/mode', 'got 7, expected 0')).toBe('/mode: got 7, expected 0')
})
