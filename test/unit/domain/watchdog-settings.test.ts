import { describe, expect, test } from 'vitest'
import { TariffType, WatchdogMode } from '../../../domain/codes.ts'
import { mayBePicked, modeInForce, settingsInForce, UNPICKED_MODES } from '../../../domain/watchdog/settings.ts'

const { Disabled, Monitor, Enforce } = WatchdogMode
type Mode = WatchdogMode | null

describe('modeInForce', () => {
  test.each<[string, Mode, Mode, WatchdogMode]>([
    ['the pool’s without an own mode', null, Enforce, Enforce],
    ['a weaker own mode', Monitor, Enforce, Monitor],
    ['a stronger own mode', Enforce, Monitor, Enforce],
    ['an own mode in a pool that is off', Monitor, Disabled, Monitor],
    ['Monitor outside pools', null, null, Monitor],
    ['an own Enforce outside pools', Enforce, null, Enforce],
    ['an own Disabled', Disabled, null, Disabled],
  ])('gives a rule of SIMs %s', (_, own, pool, expected) => {
    expect(modeInForce('sim', own, pool)).toBe(expected)
  })

  test.each<[string, Mode, WatchdogMode, WatchdogMode]>([
    ['the pool’s', null, Enforce, Enforce],
    ['a weaker mode of the SIM', Monitor, Enforce, Monitor],
    ['no stronger mode of the SIM', Enforce, Monitor, Monitor],
    ['Disabled in a pool that is off', Monitor, Disabled, Disabled],
  ])('gives a rule of pools %s', (_, own, pool, expected) => {
    expect(modeInForce('pool', own, pool)).toBe(expected)
  })
})

describe('mayBePicked', () => {
  test.each<[Mode, boolean]>([
    [null, true],
    [Disabled, false],
    [Monitor, false],
    [Enforce, true],
  ])('for own mode %j is %j, if exempt false', (ownMode, expected) => {
    expect(mayBePicked({ exempt: false, ownMode })).toBe(expected)
    expect(mayBePicked({ exempt: true, ownMode })).toBe(false)
    expect(UNPICKED_MODES.some((mode) => mode === ownMode)).toBe(!expected)
  })
})

describe('settingsInForce', () => {
  const none = { watchdogMode: null, warningThresholdPct: null, enableBurnRateAlerts: null }
  const pool = { watchdogMode: Enforce, warningThresholdPct: 80, enableBurnRateAlerts: true }

  test('inherits all settings under a Standard tariff', () => {
    expect(settingsInForce(none, { ...pool, tariffType: TariffType.Standard })).toEqual(pool)
  })

  test.each([TariffType['Dynamic Pool'], TariffType['Fixed Pool']])(
    'inherits only the mode from a shared pool (%i)',
    (tariffType) => {
      expect(settingsInForce(none, { ...pool, tariffType })).toEqual({
        watchdogMode: Enforce,
        warningThresholdPct: null,
        enableBurnRateAlerts: false,
      })
    },
  )

  test('prefers own settings under every tariff type', () => {
    const own = { watchdogMode: Monitor, warningThresholdPct: 50, enableBurnRateAlerts: false }
    for (const tariffType of Object.values(TariffType)) {
      expect(settingsInForce(own, { ...pool, tariffType })).toEqual(own)
    }
  })

  test('falls back to Monitor alone outside pools', () => {
    const expected = { watchdogMode: Monitor, warningThresholdPct: null, enableBurnRateAlerts: false }
    expect(settingsInForce(none, null)).toEqual(expected)
  })
})
