/** How many mails a nightly file makes. */
import { expect, test } from 'vitest'
import { TariffType } from '../../../domain/codes.ts'
import type { Job } from '../../../domain/jobs.ts'
import { readRuleFiles } from '../../../process/rule-files.ts'
import { sendMails } from '../../../service/channels/send-mails.ts'
import { logAction } from '../../../service/enforcement/log-action.ts'
import { activateRules } from '../../../service/rules/rules-in-force.ts'
import { importSims } from '../../../service/sims/import-sims.ts'
import { aPool, aStore, aTariff } from '../../setup/estate.ts'
import { evaluationOptions, watch } from '../harness.ts'
import { aPost, RETRIES } from './post.ts'

const [SIMS, POOLS, CHUNKS] = [1000, 30, 10]
const MB = 1_000_000

const store = await aStore()
const rules = (await readRuleFiles('')).filter(({ file }) => /sim-(overage|usage-warning)/.test(file))
await activateRules(store, rules, 'the tests')

test('a nightly file of which 4 % pass a limit in 30 pools makes one mail', async () => {
  const post = await aPost(store)
  // As a worker does: a mail job runs as soon as a transaction has enqueued it.
  let mailing = Promise.resolve()
  const enqueue = (jobs: readonly Job[]) => {
    if (!jobs.some(({ queue }) => queue === 'mail')) return
    mailing = mailing.then(() => sendMails({ ...store, enqueue }, post.mailer, RETRIES, post.tenantId))
  }
  const sims = await post.asTenant(async (tx) => {
    const tariff = await aTariff(tx, TariffType.Standard, 100 * MB)
    const pools: number[] = []
    for (let n = 0; n < POOLS; n += 1) {
      pools.push((await aPool(tx, tariff.id, { name: `Site ${n}`, warningThresholdPct: 80 })).id)
    }
    const state = { status: 1, activatedAt: '2026-01-01T00:00:00Z' } as const
    const { created } = await importSims(
      tx,
      Array.from({ length: SIMS }, (_, n) => ({
        iccid: String(8_944_500_900_000_000_000n + BigInt(n)),
        tag: `meter ${n}`,
        poolId: pools[n % POOLS] ?? 0,
        ...state,
      })),
    )
    return created.map(({ id }) => id)
  })
  const options = { ...evaluationOptions() }
  await watch(store, options, post.tenantId)

  const isOver = (n: number) => n % 25 === 0
  for (let chunk = 0; chunk < CHUNKS; chunk += 1) {
    const part = sims.flatMap((simId, n) => (Math.floor((n * CHUNKS) / SIMS) === chunk ? [{ simId, n }] : []))
    await post.record(part.map(({ simId, n }) => post.usage(simId, { bytesDown: (isOver(n) ? 105 : 10) * MB })))
    await watch({ ...store, enqueue }, options, post.tenantId)
    for (const { simId } of part.filter(({ n }) => isOver(n))) {
      const action = { cycle: '2026-11', rule: 'sim-overage', action: 'suspended', counter: 0 } as const
      await post.asTenant((tx) => logAction(tx, { simId, ...action, detail: 'suspended', workflowId: `w${simId}` }))
    }
    await mailing
    await post.pass(5)
  }
  await post.pass(3 * 3600, 60)
  await mailing

  const mails = await post.mails()
  const notices = mails.flatMap(({ keys }) => keys)
  // A critical notice and a suspension for each of these SIMs: the warnings say less of the same.
  expect(notices).toHaveLength(2 * Math.ceil(SIMS / 25))
  expect(mails).toHaveLength(1)
  expect((await post.arrived()).map(({ subject }) => subject).toSorted()).toEqual([
    '40 SIMs over their limit, 40 suspended',
  ])
})
