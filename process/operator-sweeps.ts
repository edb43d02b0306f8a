/** Sweeps for the operator of the installation: mail notices, and delete old ones. */
import type { Logger } from 'pino'
import { forgetOperatorNotices } from '../service/channels/rows/operator-mails.ts'
import { type OperatorChannel, tellOperator } from '../service/channels/tell-operator.ts'
import { inPlatform, type Store } from '../store/tenancy.ts'
import { operatorMailOptions } from './options.ts'
import type { Settings } from './settings.ts'
import type { Sweep } from './start-sweeps.ts'

const HOUR_MS = 3_600_000
const KEPT_MS = 90 * 86_400_000

/** The sweeps. They may wait for the mail server as long as a mail takes: run them next to others. */
export function operatorSweeps(store: Store, channel: OperatorChannel, settings: Settings, log: Logger): Sweep[] {
  const options = operatorMailOptions(settings)
  const onGivenUp = (given: object) => log.error(given, 'a mail to the operator was given up')
  return [
    ...(options === null
      ? []
      : [{ name: 'mail to the operator', run: () => tellOperator(store, channel, { ...options, onGivenUp }) }]),
    {
      name: 'old notices to the operator',
      everyMs: HOUR_MS,
      run: () => inPlatform(store, (tx) => forgetOperatorNotices(tx, new Date(tx.now.getTime() - KEPT_MS))),
    },
  ]
}
