import { expect, test } from 'vitest'
import { verdictOf } from '../../../tools/check-audit.ts'

const anAudit = (severity: string) =>
  JSON.stringify({ auditReportVersion: 2, vulnerabilities: { fastify: { name: 'fastify', severity, range: '<5.13' } } })
const signatures = (invalid: readonly object[], missing: readonly object[]) => JSON.stringify({ invalid, missing })
const FASTIFY = { name: 'fastify', version: '5.12.8' }

test.each([
  ['a fault of level high', anAudit('high'), ['fastify <5.13: high']],
  ['a critical fault', anAudit('critical'), ['fastify <5.13: critical']],
  ['a signature that does not fit', signatures([FASTIFY], []), ['fastify@5.12.8: its signature does not fit']],
  ['a package without a signature', signatures([], [FASTIFY]), ['fastify@5.12.8: it is not signed']],
  ['no grave fault', anAudit('moderate'), []],
  ['no fault', JSON.stringify({ auditReportVersion: 2, vulnerabilities: {} }), []],
  ['fitting signatures', signatures([], []), []],
])('verdictOf reads %s', (_what, text, findings) => {
  expect(verdictOf(text)).toEqual({ findings })
})

test.each([
  ['is away', '{"message": "request failed, reason: ENOTFOUND\\nmore"}', 'request failed, reason: ENOTFOUND'],
  ['does not sign', '{"error": {"code": null, "summary": "no supported registry"}}', 'no supported registry'],
  ['is too slow', '', 'the registry did not answer in time'],
])('verdictOf skips a registry that %s', (_what, text, skipped) => {
  expect(verdictOf(text)).toEqual({ skipped })
})
