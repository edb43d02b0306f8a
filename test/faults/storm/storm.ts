/** A service whose mails go to the mail server with manners, with servers that can be killed. */
import type { Settings } from '../../../process/settings.ts'
import { ownServers } from '../../setup/own-servers.ts'
import { startService } from '../../setup/service.ts'
import { openSources } from '../witnesses.ts'
import { startMailServer } from './mail-server.ts'
import type { Manners } from './post-folder.ts'
import { STORM_RULES } from './tenants.ts'

const SETTINGS = {
  MAIL_GROUP_FIRST: 'PT1S',
  MAIL_GROUP_NEXT: 'PT2S',
  MAIL_RETRY_MAX: 'PT2S',
  OPERATOR_EMAIL: 'noc.0@meadow.example',
} as const
/** Slow enough for a kill to meet mails between their last line and the answer. */
const ANSWER_MS = 150

interface StormOptions {
  /** Queues in Redis, which must be installed; else in PostgreSQL. */
  readonly withRedis: boolean
  /** How the mail server begins. */
  readonly manners: Pick<Manners, 'login' | 'bad'>
  /** Beside those of a storm. */
  readonly settings?: Partial<Settings>
  readonly rules?: readonly { readonly file: string; readonly text: string }[]
}

export async function openStorm({ withRedis, manners, settings = {}, rules = [] }: StormOptions) {
  const servers = await ownServers({ withRedis })
  const post = await startMailServer({ ...manners, answerMs: ANSWER_MS })
  const service = await startService({ ...SETTINGS, ...settings, SMTP_URL: post.smtpUrl }, servers).catch(
    async (error: unknown) => {
      await servers.stop()
      await post.stop()
      throw error
    },
  )
  const sources = openSources(servers)
  await service.call('POST', '/internal/rules', '', { files: [...STORM_RULES, ...rules], author: 'the tests' })
  return {
    withRedis,
    servers,
    post,
    service,
    sources,
    close: async () => {
      await sources.close()
      await service.stop()
      await post.stop()
    },
  }
}
export type Storm = Awaited<ReturnType<typeof openStorm>>
