/** The act on a pool: change its settings. */
import { html } from 'hono/html'
import { WatchdogMode } from '../../../domain/codes.ts'
import type { Pool, PoolUpdate } from '../../../domain/pools/pool.ts'
import { percent } from '../../../domain/quantity.ts'
import { mustAnswer } from '../../answers.ts'
import type { Calls } from '../../calls.ts'
import { type Act, numberField, readNumber, type Typed } from '../../parts/form.ts'
import type { Html } from '../../parts/html.ts'
import { choices } from '../../parts/list.ts'
import { MODE_WORDS } from './marks.ts'

/** A pool at a version. */
interface ReadPool {
  readonly pool: Pool
  readonly etag: string
}

/** @throws ServiceError `pool_not_found` */
export async function readPool({ outside }: Calls, id: number): Promise<ReadPool> {
  const reading = outside.GET('/api/pools/{id}', { params: { path: { id } } })
  return { pool: await mustAnswer(reading), etag: (await reading).response.headers.get('etag') ?? '' }
}

export const thresholdWords = ({ warningThresholdPct }: Pool): string =>
  warningThresholdPct === null ? 'no threshold' : percent(warningThresholdPct)

export const burnRateWords = ({ enableBurnRateAlerts }: Pool): string =>
  enableBurnRateAlerts === true ? 'alerts' : 'no alerts'

const settings: Act<ReadPool> = {
  noun: 'pools',
  name: 'settings',
  label: 'Settings',
  icon: 'settings',
  read: readPool,
  confirm: ({ pool, etag }) => ({
    of: html`<bdi>${pool.name}</bdi>`,
    question: 'Change the settings of this pool?',
    button: 'Change settings',
    facts: [
      ['Name', html`<bdi>${pool.name}</bdi>`],
      ['Watchdog', MODE_WORDS[pool.watchdogMode]],
      ['Warns at', thresholdWords(pool)],
      ['Burn rate', burnRateWords(pool)],
      ['Then', 'The watchdog judges the pool and its SIMs again, in some seconds. Suspended SIMs stay suspended.'],
      ['Taken back', 'By changing them again. The audit trail has what they were.'],
    ],
    fields: (typed) => fields(pool, etag, typed),
  }),
  send: ({ outside }, { pool, etag }, typed) => {
    const body = settingsIn(typed, pool)
    // A form that is sent again changes nothing, so no version is in its way.
    const seen = isAsNow(body, pool) ? etag : (typed['seen'] ?? '')
    return outside.PUT('/api/pools/{id}', { params: { path: { id: pool.id }, header: { 'If-Match': seen } }, body })
  },
  done: 'The settings are changed: the watchdog judges by them in some seconds.',
}

const PERCENT = { from: 1, to: 100 }
const MODES = Object.values(WatchdogMode).map((mode) => [mode, MODE_WORDS[mode]] as const)
const BURN_RATE = [
  [true, 'Alerts'],
  [false, 'No alerts'],
] as const

const fields = (pool: Pool, etag: string, typed: Typed): Html => html`
<input type="hidden" name="seen" value="${etag}">
<label>Name <input name="name" value="${typed['name'] ?? pool.name}" minlength="3" maxlength="50" required></label>
${choices({ name: 'mode', label: 'Watchdog', value: typed['mode'] ?? pool.watchdogMode }, MODES)}
${numberField({ name: 'threshold', label: 'Warns at this share of its capacity, in percent; empty: no threshold', ...PERCENT }, typed, pool.warningThresholdPct)}
${choices({ name: 'burnRate', label: 'Burn rate', value: typed['burnRate'] ?? pool.enableBurnRateAlerts === true }, BURN_RATE)}`

/** All settings, as a PUT replaces them. @throws ServiceError `invalid_request` */
function settingsIn(typed: Typed, pool: Pool) {
  const { name, mode, threshold, burnRate } = typed
  const hasAlerts = pool.enableBurnRateAlerts === true
  return {
    name: name ?? pool.name,
    watchdogMode: Object.values(WatchdogMode).find((one) => String(one) === mode) ?? pool.watchdogMode,
    warningThresholdPct: threshold === undefined ? pool.warningThresholdPct : readNumber(typed, 'threshold', PERCENT),
    // Without alerts it may be false or null: both stay.
    enableBurnRateAlerts: burnRate === String(!hasAlerts) ? !hasAlerts : pool.enableBurnRateAlerts,
  } satisfies PoolUpdate
}

const isAsNow = (body: ReturnType<typeof settingsIn>, pool: Pool): boolean =>
  body.name === pool.name &&
  body.watchdogMode === pool.watchdogMode &&
  body.warningThresholdPct === pool.warningThresholdPct &&
  body.enableBurnRateAlerts === pool.enableBurnRateAlerts

export const POOL_ACTS = [settings]
