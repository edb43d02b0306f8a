/** The rules of the tests on the real service: the shipped rules that suspend, and a variant of each. */
import { readFile } from 'node:fs/promises'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import type { Store } from '../../../store/tenancy.ts'

const shipped = async (file: string) =>
  JSON.parse(await readFile(new URL(`../../../rules/${file}`, import.meta.url), 'utf8'))

/**
 * SIMs with a Standard tariff have two days of grace in pools named `patient…`, and none in pools named `plain…`. Of a
 * shared pool named `all…` all SIMs are suspended, of one named `shared…` those with the largest excess.
 */
export async function putRulesInForce(store: Store): Promise<void> {
  const atOnce = await shipped('sim/sim-overage.json')
  const patient = structuredClone(atOnce)
  atOnce.match.pool = 'plain*'
  patient.name = 'sim-overage-patient'
  patient.match.pool = 'patient*'
  patient.event.params.suspend.grace = 'P2D'
  const largest = await shipped('pool/pool-overage.json')
  const all = structuredClone(largest)
  largest.match.pool = 'shared*'
  all.name = 'pool-overage-all'
  all.match.pool = 'all*'
  all.event.params.suspend.target = 'all'
  const rules = [atOnce, patient, largest, all]
  const files = rules.map((rule) => ({ file: `${rule.subject}/${rule.name}.json`, text: JSON.stringify(rule) }))
  await activateRules(store, files, 'the tests')
}
