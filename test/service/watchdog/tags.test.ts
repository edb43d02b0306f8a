/** Rules about tags: they add up the SIMs whose tags fit a pattern. */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openLink, sealLink } from '../../../domain/channels/link.ts'
import { SimStatus, TariffType, TicketType } from '../../../domain/codes.ts'
import { MB } from '../../../domain/units.ts'
import { NO_FACTS } from '../../../rules/facts-needed.ts'
import { acknowledgeAlert } from '../../../service/alerts/acknowledge-alert.ts'
import { pageOfAlerts } from '../../../service/alerts/page-of-alerts.ts'
import { notePatterns, tagRows } from '../../../service/alerts/rows/tag-patterns.ts'
import { followLink } from '../../../service/channels/follow-link.ts'
import { coverage } from '../../../service/rules/coverage.ts'
import { tagSim } from '../../../service/sims/tag-sim.ts'
import { explain } from '../../../service/watchdog/explain/explain.ts'
import { readSims, readSituation } from '../../../service/watchdog/read-batch.ts'
import { scanTags } from '../../../service/watchdog/rows/tags.ts'
import { aFile, examplesOf, leaf } from '../../unit/rules/samples.ts'
import { aWorld, OVERAGE, type World } from './alert-world.ts'

const [HOUR, DAY] = [3_600_000, 86_400_000]
const ALL = { fromId: 0, toId: null }

/** Tells once the SIMs of a tag have used 100 MB together. */
function together(tag: string, changed: object = {}, name = 'cameras') {
  const { text } = aFile(
    {
      name,
      subject: 'tag',
      match: { tag },
      conditions: { all: [leaf('usageMB', 'greaterThanInclusive', 100)] },
      examples: examplesOf({ usageMB: 100 }, { usageMB: 99 }),
    },
    { message: '{{simCount}} SIMs of {{tag}} used {{usageMB}}.', actions: ['log', 'email'], ...changed },
  )
  return { file: `tag/${name}.json`, text }
}

/** Three SIMs: two cameras and a meter. */
async function cameras(rules = [...OVERAGE, together('camera-*')]) {
  const world = await aWorld({ rules, sims: 3, tariff: TariffType['Dynamic Pool'] })
  const [one = 0, two = 0, meter = 0] = world.sims
  const tag = (id: number, text: string) => world.asTenant((tx) => tagSim(tx, { id, tag: text }))
  await tag(one, 'camera-1')
  await tag(two, 'camera-2')
  await tag(meter, 'meter_1')
  await world.wait(HOUR)
  return { ...world, one, two, meter, tag }
}

const idOf = async ({ asTenant }: Pick<World, 'asTenant'>, pattern: string) => {
  const rows = await asTenant((tx) => tagRows(tx, ALL))
  return rows.find(({ tag }) => tag === pattern)?.id ?? 0
}

describe('a rule about a tag', () => {
  test('adds up the SIMs that fit, and tells at the next look', async () => {
    const world = await cameras()
    await world.use(world.one, 60)
    await world.use(world.meter, 60)
    await world.wait(HOUR)
    const before = await world.logged()
    await world.use(world.two, 45)
    await world.wait(HOUR)
    await world.wait(HOUR)

    expect(before).toEqual([])
    expect(await world.log()).toMatchObject([{ simId: null, poolId: null, message: '2 SIMs of camera-* used 105 MB.' }])
    expect(await world.notices()).toMatchObject([
      {
        subject: { kind: 'tag', label: 'camera-*' },
        facts: { usageMB: 105, overageMB: 0, limitMB: null, usagePct: null },
      },
    ])
  })

  test('ends when the tag of a SIM no longer fits, and tells so', async () => {
    const world = await cameras([...OVERAGE, together('camera-*', { once: 'episode' })])
    await world.use(world.one, 60)
    await world.use(world.two, 45)
    await world.wait(HOUR)
    await world.tag(world.two, 'spare')
    await world.wait(HOUR)

    expect((await world.log()).map(({ message }) => message)).toEqual([
      '2 SIMs of camera-* used 105 MB.',
      'Tag camera-* no longer meets rule cameras.',
    ])
  })

  test('keeps apart rules of several patterns, also of one that fits the other', async () => {
    const world = await cameras([together('camera-*'), together('*', {}, 'everything')])
    await world.use(world.one, 60)
    await world.use(world.meter, 45)
    await world.wait(HOUR)

    expect((await world.log()).map(({ message }) => message)).toEqual(['3 SIMs of * used 105 MB.'])
    expect(await world.alerts()).toMatchObject([{ rule: 'everything', firing: true }])
  })

  test.each<[string, (world: World) => Promise<unknown>]>([
    ['the rule was removed', (world) => world.put(OVERAGE)],
    ['the rule was switched off', (world) => world.put([...OVERAGE, together('camera-*', { stage: 'off' })])],
    ['the rule no longer covers the tag', (world) => world.put([...OVERAGE, together('cam*')])],
  ])('tells no longer: %s', async (why, change) => {
    const world = await cameras([...OVERAGE, together('camera-*', { once: 'episode' })])
    await world.use(world.one, 105)
    await world.wait(HOUR)
    await change(world)
    await world.wait(HOUR)

    expect((await world.log()).map(({ message }) => message)).toContain(
      `Rule cameras no longer watches tag camera-*: ${why}.`,
    )
  })

  test('is listed, explained, acknowledged and covered by its name', async () => {
    const world = await cameras()
    await world.use(world.one, 105)
    await world.wait(HOUR)
    const tagId = await idOf(world, 'camera-*')
    const { rules } = world.options
    await world.asTenant((tx) => acknowledgeAlert(tx, { rule: 'cameras', tagId }))
    const page = await world.asTenant((tx) => pageOfAlerts(tx, { tagId }, rules))
    const now = await world.asTenant((tx) => explain(tx, { tagId }, rules))
    const [{ id: entryId } = { id: 0 }] = await world.rows(sql<{ id: number }>`select id from watchdog_log`)
    const then = await world.asTenant((tx) => explain(tx, { entryId }, rules))
    const { subjects } = await world.asTenant((tx) => coverage(tx, {}, rules))

    expect(page.data).toMatchObject([
      { subject: { kind: 'tag', label: 'camera-*' }, acknowledgedAt: expect.any(String), poolId: null },
    ])
    expect(now).toMatchObject({
      subject: { kind: 'tag', id: tagId, label: 'camera-*' },
      rules: [{ rule: 'cameras', isAttached: true, isMet: true, mode: null, phase: 'firing' }],
    })
    expect(then).toMatchObject({ of: 'entry', subject: { kind: 'tag', id: tagId, label: 'camera-*' } })
    expect(subjects.find(({ kind }) => kind === 'tag')).toEqual({ kind: 'tag', total: 1, withRule: 1, without: [] })
    await expect(world.asTenant((tx) => explain(tx, { tagId: 999 }, rules))).rejects.toMatchObject({
      code: 'tag_not_found',
    })
  })

  test('is acknowledged and silenced by the links of its mail', async () => {
    const world = await cameras()
    await world.use(world.one, 105)
    await world.wait(HOUR)
    const subject = { kind: 'tag', id: await idOf(world, 'camera-*') } as const
    const about = { tenantId: world.tenantId, rule: 'cameras', subject, cycle: '2026-11' }
    const follow = (purpose: 'ack' | 'mute') => world.asTenant((tx) => followLink(tx, { purpose, ...about }))
    const key = new Uint8Array(32)
    const ack = { purpose: 'ack', ...about } as const

    expect(openLink(key, sealLink(key, ack, world.store.now), world.store.now)?.link).toEqual(ack)
    expect([await follow('ack'), await follow('mute')]).toMatchObject([
      { purpose: 'ack', status: 'done', subject: { kind: 'tag', label: 'camera-*' } },
      { purpose: 'mute', status: 'done' },
    ])
    expect(await world.rows(sql`select rule, sim_id, pool_id, tag from silences`)).toEqual([
      { rule: 'cameras', sim_id: null, pool_id: null, tag: null },
    ])
  })

  test('is silenced by its tag', async () => {
    const world = await cameras()
    await world.silence({ tag: 'camera-*' })
    await world.use(world.one, 105)
    await world.wait(HOUR)

    expect([await world.logged(), await world.mailed()]).toEqual([['cameras/tag/2026-11/fired'], []])
  })

  test('costs a tenant without such a rule nothing but a look at none', async () => {
    const world = await cameras(OVERAGE)

    expect(await world.asTenant((tx) => tagRows(tx, ALL))).toEqual([])
  })
})

describe('the facts of a tag', () => {
  test('are the sums of the facts of its SIMs', async () => {
    const world = await cameras([...OVERAGE, together('*'), together('camera-*', {}, 'more')])
    await world.use(world.one, 170)
    await world.use(world.two, 150)
    await world.use(world.meter, 20)
    await world.unprovisioned(1)
    await world.complete({ simId: world.two, type: TicketType.Suspend })
    await world.record([world.usage(world.one, { smsCount: 3, voiceSeconds: 90, sessions: 2 })])
    world.store.now += 10 * DAY

    await world.asTenant(async (tx) => {
      const situation = await readSituation(tx)
      const { key } = situation.moment.cycle
      const all = await sql<{ id: number }>`select id from sims`.execute(tx.q)
      const ids = all.rows.map(({ id }) => id)
      const sims = await readSims(tx, situation, ids, NO_FACTS)
      const tags = await tagRows(tx, ALL)
      const scans = await scanTags(tx, key, tags, new Date(tx.now.getTime() - DAY))
      for (const { id, tag } of tags) {
        const fit = sims.filter(({ row }) => tag === '*' || row.tag.startsWith('camera-'))
        const sum = (of: (sim: (typeof sims)[number]) => number) => fit.reduce((all, sim) => all + of(sim), 0)
        const withStatus = (status: SimStatus) => fit.filter(({ row }) => row.status === status).length

        expect(scans.get(id), tag).toEqual({
          simCount: fit.length,
          activeSimCount: withStatus(SimStatus.Active),
          suspendedSimCount: withStatus(SimStatus.Suspended),
          unprovisionedSimCount: withStatus(SimStatus.Unprovisioned),
          silentSimCount: withStatus(SimStatus.Active),
          overSimCount: 2,
          usageBytes: sum(({ row }) => row.usageBytes),
          overageBytes: sum(({ row }) => row.overageBytes),
          voiceSeconds: sum(({ row }) => row.voiceSeconds),
          smsCount: sum(({ row }) => row.smsCount),
          sessions: sum(({ row }) => row.sessions),
        })
        expect(scans.get(id)?.overageBytes).toBe(40 * MB)
      }
    })
  })

  test('take a pattern’s other characters for themselves', async () => {
    const world = await cameras()
    const patterns = ['meter_1', 'meter-1', '%', '_*', 'Camera-1', '\\*', 'camera-1']
    await world.asTenant((tx) => notePatterns(tx, patterns))
    const counts = await world.asTenant(async (tx) => {
      const tags = await tagRows(tx, ALL)
      const scans = await scanTags(tx, '2026-11', tags, tx.now)
      return tags.flatMap(({ id, tag }) => (scans.has(id) ? [[tag, scans.get(id)?.simCount]] : []))
    })

    expect(counts).toEqual([
      ['camera-*', 2],
      ['camera-1', 1],
      ['meter_1', 1],
    ])
  })
})
