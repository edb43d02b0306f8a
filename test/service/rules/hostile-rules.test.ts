/** Whatever rule file the gate accepts can be stored, evaluated, told and mailed. */
import { expect, test } from 'vitest'
import { renderMail } from '../../../adapters/channels/mail/render-mail.ts'
import { SUBJECT_CHARS } from '../../../adapters/channels/mail/subject.ts'
import type { RuleSource } from '../../../domain/rules/rule-source.ts'
import { loadRuleSet } from '../../../rules/load/load-rule-set.ts'
import { randomFrom, SEED } from '../../setup/seed.ts'

import { hostileFile } from '../../unit/rules/hostile-files.ts'
import { LADDERS, shippedFiles } from '../../unit/rules/samples.ts'
import { aWorld } from '../watchdog/alert-world.ts'

/** Fewer than a set may have, because each of them has an alert, an entry and a mail here. */
const RULES = 200

/** Accepted files of hostile origin, under names of their own. */
async function acceptedFiles(count: number): Promise<RuleSource[]> {
  const random = randomFrom(SEED)
  const shipped = [...shippedFiles(), ...LADDERS]
  const files: RuleSource[] = []
  while (files.length < count) {
    const { file, text } = hostileFile(shipped, random)
    const { rules } = await loadRuleSet([{ file, text }])
    if (rules.length === 0) continue
    const name = `rule-${files.length}`
    // The subject decides about the folder; the rest of the text stays as it is.
    files.push({
      file: file.replace(/[^/]+\.json$/, `${name}.json`),
      text: text.replace(/"name":\s*"[^"]+"/, () => `"name":"${name}"`),
    })
  }
  return files
}

test(`accepted files are evaluated, told and mailed (seed ${SEED})`, async () => {
  const files = await acceptedFiles(RULES)
  const world = await aWorld({ rules: files })
  await world.use(world.sim, 85)
  await world.use(world.sim, 30)
  await world.mailAll()
  await world.use(world.sim, -80)

  const notices = await world.notices()
  expect((await world.alerts()).length).toBeGreaterThan(RULES / 10)
  expect((await world.logged()).length).toBeGreaterThan(RULES / 10)
  expect(notices.length).toBeGreaterThan(RULES / 40)
  for (const mail of [...notices.map((notice) => renderMail([notice])), renderMail(notices)]) {
    expect(mail.subject.length).toBeLessThanOrEqual(SUBJECT_CHARS)
    expect(mail.subject).not.toMatch(/[\r\n]/)
    expect(mail.html).not.toMatch(/<script|<b>/)
  }
})
