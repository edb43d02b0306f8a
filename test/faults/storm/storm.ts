/** A service whose mails go to the mail server with manners, with servers that can be killed. */
import type { Settings } from '../../../process/settings.ts'
import { openHarness } from '../harness.ts'
import { startMailServer } from './mail-server.ts'
import type { Manners } from './post-folder.ts'
import { STORM_RULES } from './tenants.ts'

/** Slow enough for a kill to meet mails between their last line and the answer. */
const ANSWER_MS = 150

interface StormOptions {
  /** Queues in Redis, which must be installed; else in PostgreSQL. */
  readonly withRedis: boolean
  /** How the mail server begins. */
  readonly manners: Pick<Manners, 'login' | 'bad'>
  readonly settings?: Partial<Settings>
  /** Beside those of a storm. */
  readonly rules?: readonly { readonly file: string; readonly text: string }[]
}

export async function openStorm({ withRedis, manners, settings = {}, rules = [] }: StormOptions) {
  const post = await startMailServer({ ...manners, answerMs: ANSWER_MS })
  const mails = { OPERATOR_EMAIL: 'noc.0@meadow.example', SMTP_URL: post.smtpUrl }
  const options = { withRedis, settings: { ...mails, ...settings }, rules: [...STORM_RULES, ...rules] }
  const harness = await openHarness(options).catch(async (error: unknown) => {
    await post.stop()
    throw error
  })
  const close = async () => {
    await harness.close()
    await post.stop()
  }
  return { ...harness, withRedis, post, close }
}
export type Storm = Awaited<ReturnType<typeof openStorm>>
