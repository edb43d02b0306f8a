/** What a process says of itself while it refuses the rule set in the database. */
import Fastify from 'fastify'
import { Value } from 'typebox/value'
import { expect, test } from 'vitest'
import { Readiness, rulesDependency, startHealth } from '../../../process/health.ts'
import { createMetrics } from '../../../process/metrics.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { activateRules, rulesInForce } from '../../../service/rules/rules-in-force.ts'
import { freePort } from '../../../stack/free-port.ts'
import { putForeignRules } from '../../setup/foreign-rules.ts'
import { startedApi, useHarness } from '../harness.ts'

const harness = useHarness()
const host = '127.0.0.1'

test('/readyz of API and worker is 503 with `rules` until a set is loaded that they accept', async () => {
  const { store } = harness
  const shipped = await readRuleFiles('')
  const { version } = await activateRules(store, shipped, 'the tests')
  const dependencies = [rulesDependency(store, rulesInForce())]
  const api = await startedApi(harness, { dependencies })
  const port = await freePort()
  const worker = await startHealth({ app: Fastify(), host, port, metrics: createMetrics(), dependencies })
  const ready = () =>
    Promise.all(
      [api.internalUrl, `http://${host}:${port}`].map(async (url) => {
        const response = await fetch(`${url}/readyz`)
        const { ok, dependencies } = Value.Parse(Readiness, await response.json())
        return { status: response.status, ok, rules: dependencies.find(({ name }) => name === 'rules') }
      }),
    )

  const before = await ready()
  // Another build has accepted a fact that this one does not know.
  const foreign = shipped.map(({ file, text }) => ({ file, text: text.replace('"usagePct"', '"usageShareToday"') }))
  await putForeignRules(store.db, foreign, new Date())
  const refused = await ready()
  await activateRules(store, shipped, 'the tests')
  const after = await ready()
  await Promise.all([api.close(), worker.stop()])

  const well = { status: 200, ok: true, rules: { name: 'rules', required: true, ok: true, detail: expect.any(String) } }
  expect(before).toEqual([well, well])
  expect(after).toEqual([well, well])
  const detail = expect.stringMatching(
    new RegExp(`is refused by this build .*usageShareToday.*: version ${version} stays in force`),
  )
  const ill = { status: 503, ok: false, rules: { name: 'rules', required: true, ok: false, detail } }
  expect(refused).toEqual([ill, ill])
})
