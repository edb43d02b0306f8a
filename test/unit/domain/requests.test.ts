import { describe, expect, test } from 'vitest'
import { spanOf, toPage } from '../../../domain/page.ts'
import { lookupOf } from '../../../domain/sims/sim.ts'
import { allows } from '../../../domain/tenants/tenant.ts'

describe('lookupOf', () => {
  test.each([
    ['7', { by: 'id', id: 7 }],
    ['0012', { by: 'id', id: 12 }],
    ['9007199254740991', { by: 'id', id: 9_007_199_254_740_991 }],
    ['99999999999999999', undefined],
    ['894450010219830482', { by: 'iccid', iccid: '894450010219830482' }],
    ['8944500102198304826F', { by: 'iccid', iccid: '8944500102198304826' }],
    ['894450010219830482ff', { by: 'iccid', iccid: '894450010219830482' }],
    ['7F', undefined],
    ['8944500102198304826123', { by: 'iccid', iccid: '8944500102198304826123' }],
    ['89445001021983048261234', undefined],
    ['-7', undefined],
    ['7a', undefined],
    ['', undefined],
  ])('reads %j as %j', (segment, found) => {
    expect(lookupOf(segment)).toEqual(found)
  })
})

describe('spanOf', () => {
  const iso = (text: string) => {
    const span = spanOf(text)
    return span && [span.from.toISOString(), span.to?.toISOString() ?? null]
  }

  test.each([
    ['2026-11-20', ['2026-11-20T00:00:00.000Z', '2026-11-21T00:00:00.000Z']],
    ['2028-02-29', ['2028-02-29T00:00:00.000Z', '2028-03-01T00:00:00.000Z']],
    ['2026-11-20T10:00:00Z', ['2026-11-20T10:00:00.000Z', null]],
    ['2026-11-20t10:00z', ['2026-11-20T10:00:00.000Z', null]],
    ['2026-11-20 10:00:00.25+02:00', ['2026-11-20T08:00:00.250Z', null]],
    ['2026-02-29', undefined],
    ['2026-13-01', undefined],
    ['2026-11-20T25:00:00Z', undefined],
  ])('reads %s as %j', (text, span) => {
    expect(iso(text)).toEqual(span)
  })
})

describe('toPage', () => {
  test.each([
    [1, 10, 0, { totalPages: 0, hasNextPage: false, hasPreviousPage: false }],
    [1, 10, 10, { totalPages: 1, hasNextPage: false, hasPreviousPage: false }],
    [1, 10, 11, { totalPages: 2, hasNextPage: true, hasPreviousPage: false }],
    [2, 10, 11, { totalPages: 2, hasNextPage: false, hasPreviousPage: true }],
    [3, 10, 0, { totalPages: 0, hasNextPage: false, hasPreviousPage: false }],
  ])('describes page %i of size %i, %i items in all', (page, pageSize, totalItems, pagination) => {
    expect(toPage({ page, pageSize }, totalItems, []).pagination).toEqual({ page, pageSize, totalItems, ...pagination })
  })
})

describe('allows', () => {
  test.each([
    [['read'], 'read', true],
    [['read'], 'write', false],
    [['write'], 'read', true],
    [['admin'], 'write', true],
    [['write'], 'admin', false],
    [['operator'], 'admin', true],
    [['operator'], 'esim', false],
    [['admin'], 'esim', false],
    [['read', 'esim'], 'esim', true],
    [['read', 'esim'], 'write', false],
  ] as const)('lets scopes %j do what needs %s: %s', (scopes, needed, allowed) => {
    expect(allows(scopes, needed)).toBe(allowed)
  })
})
