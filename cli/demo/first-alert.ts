/** The first alert of a SIM, from its log entry to its mail, its workflow and its reasons. */
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { linkIn } from '../../adapters/rest/client.ts'
import { LogLevel } from '../../domain/codes.ts'
import type { Reporter } from '../reporter.ts'
import { explained } from '../rules/explained.ts'
import { responseOf } from '../service.ts'
import { typed } from '../stack-file.ts'
import { allOf } from './pages.ts'
import type { Play } from './prepare.ts'

/** Prints nothing if there was none. */
export async function showFirstAlert(play: Play, reporter: Reporter): Promise<void> {
  const { api, internal, stack, progress, dataDir } = play
  const logs = await allOf((query) =>
    responseOf(api.GET('/api/watchdog/logs', { params: { query: { ...query, level: LogLevel.Critical } } })),
  )
  const entryId = logs.findLast(({ simId }) => simId !== null)?.id
  if (entryId === undefined) return
  const explanation = await responseOf(internal.GET('/internal/rules/explain', { params: { query: { entryId } } }))
  const { mails = [], workflows = [] } = explanation.rules[0]?.followed ?? {}

  reporter.heading('The first alert')
  reporter.say(explanation.entry?.message ?? '')
  const [mail] = mails.flatMap(({ id, status }) => (id !== null && status === 'sent' ? id : []))
  const page = mail === undefined ? undefined : await pageOfMail(stack.inboxUrl, mail)
  if (page !== undefined) reporter.say(`its mail       ${page}`)
  for (const { id: workflowId } of workflows.slice(0, 1)) {
    const run = await internal.GET('/internal/workflows/{workflowId}', { params: { path: { workflowId } } })
    const history = linkIn(run.response, 'history')
    if (history !== undefined) reporter.say(`its workflow   ${history}`)
  }
  const explain = `npx simherd rules explain --tenant ${progress.tenantId} --entry ${entryId}`
  reporter.say(`why            ${typed(dataDir, explain)}`)
  reporter.say('')
  for (const line of explained(explanation)) reporter.say(line)
}

const Mails = Type.Array(Type.Object({ id: Type.String(), headers: Type.Record(Type.String(), Type.String()) }))

/** Address of a mail's page in the inbox of `npm start`. @param messageId as in the mail's header */
async function pageOfMail(inboxUrl: string | null, messageId: string): Promise<string | undefined> {
  if (inboxUrl === null) return undefined
  const response = await fetch(inboxUrl, { headers: { accept: 'application/json' } })
  const mails: unknown = await response.json()
  if (!Value.Check(Mails, mails)) return undefined
  const found = mails.find(({ headers }) => headers['message-id'] === messageId)
  return found === undefined ? undefined : `${inboxUrl}/mails/${found.id}`
}
