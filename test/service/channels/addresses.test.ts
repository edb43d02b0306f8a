import { describe, expect, test } from 'vitest'
import type { NewAddress } from '../../../domain/channels/address.ts'
import { LogLevel } from '../../../domain/codes.ts'
import {
  addAddress,
  changeBillingAddress,
  clearAddress,
  confirmAddress,
  removeAddress,
} from '../../../service/channels/change-addresses.ts'
import { recipientsOf } from '../../../service/channels/recipients-of.ts'
import { markBad, readAddresses } from '../../../service/channels/rows/addresses.ts'
import { aStore } from '../../setup/estate.ts'
import { aHarness } from '../harness.ts'

const store = await aStore()
const FIRST = 'billing@meadow.example'

/** A tenant whose billing address has never changed. */
async function aContact() {
  const { asTenant } = await aHarness(store)
  const all = () => asTenant(readAddresses)
  return {
    all,
    asTenant,
    add: (ask: NewAddress) => asTenant((tx) => addAddress(tx, ask)),
    change: (email: string) => asTenant((tx) => changeBillingAddress(tx, email)),
    confirm: async (email: string) => {
      const found = (await all()).find((one) => one.email === email)
      return asTenant((tx) => confirmAddress(tx, found?.id ?? 0))
    },
    told: async () => recipientsOf(await all(), { level: LogLevel.Info, rules: [] }).map(({ email }) => email),
  }
}

describe('a billing address', () => {
  test('that has never changed is listed as confirmed', async () => {
    const { all, told } = await aContact()

    expect(await all()).toMatchObject([{ id: null, kind: 'billing', email: FIRST, confirmedAt: expect.any(String) }])
    expect(await told()).toEqual([FIRST])
  })

  test('that changes leaves the one before until it is confirmed', async () => {
    const { change, confirm, told } = await aContact()

    await change('new@meadow.example')
    const during = await told()
    await confirm('new@meadow.example')
    await confirm('new@meadow.example')

    expect([during, await told()]).toEqual([[FIRST, 'new@meadow.example'], ['new@meadow.example']])
  })

  test('that changes again leaves the last one that was confirmed', async () => {
    const { change, told } = await aContact()

    await change('typo@meadow.example')
    await change('right@meadow.example')

    expect(await told()).toEqual([FIRST, 'right@meadow.example'])
  })

  test('that changes back needs no confirmation', async () => {
    const { change, told, all } = await aContact()

    await change('new@meadow.example')
    await change(FIRST)

    expect(await told()).toEqual([FIRST])
    expect(await all()).toMatchObject([{ confirmedAt: expect.any(String) }])
  })

  test('that is only spelled otherwise is the same', async () => {
    const { change, told } = await aContact()

    await change('Billing@Meadow.example')

    expect(await told()).toEqual(['Billing@Meadow.example'])
  })

  test('is not removed, and the one before is', async () => {
    const { change, all, asTenant, told } = await aContact()
    await change('new@meadow.example')
    const [before, now] = await all()

    await expect(asTenant((tx) => removeAddress(tx, now?.id ?? 0))).rejects.toMatchObject({ code: 'address_in_use' })
    await asTenant((tx) => removeAddress(tx, before?.id ?? 0))

    expect(await told()).toEqual(['new@meadow.example'])
  })
})

describe('an address', () => {
  test('gets copies until it is removed', async () => {
    const { add, told, asTenant, all } = await aContact()
    const { id } = await add({ kind: 'copy', email: 'a@x.example', level: LogLevel.Info })
    await expect(add({ kind: 'copy', email: 'A@x.example' })).rejects.toMatchObject({ code: 'address_exists' })
    await add({ kind: 'escalation', email: 'a@x.example' })
    const during = await told()
    await asTenant((tx) => removeAddress(tx, id))

    expect([during, await told()]).toEqual([[FIRST, 'a@x.example'], [FIRST]])
    expect((await all()).map(({ kind }) => kind)).toEqual(['billing', 'escalation'])
    await expect(asTenant((tx) => removeAddress(tx, id))).rejects.toMatchObject({ code: 'address_not_found' })
  })

  test('that is bad gets nothing until it is cleared', async () => {
    const { add, told, all, asTenant } = await aContact()
    await add({ kind: 'copy', email: 'a@x.example' })
    await asTenant((tx) => markBad(tx, 'A@x.example'))
    await asTenant((tx) => markBad(tx, FIRST))
    const during = await told()
    const bad = await all()
    for (const { id } of bad) await asTenant((tx) => clearAddress(tx, id ?? 0))

    expect(during).toEqual([])
    expect(bad).toMatchObject([
      { email: FIRST, badSince: new Date(store.now).toISOString(), confirmedAt: expect.any(String) },
      { email: 'a@x.example', badSince: new Date(store.now).toISOString() },
    ])
    expect(await told()).toEqual([FIRST, 'a@x.example'])
  })

  test('of an escalation has neither level nor rules', async () => {
    const { add } = await aContact()

    await expect(add({ kind: 'escalation', email: 'a@x.example', rules: 'sim-*' })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('rules: got sim-*, expected none'),
    })
  })

  test('is one of twenty', async () => {
    const { add } = await aContact()
    for (let n = 0; n < 20; n += 1) await add({ kind: 'copy', email: `a${n}@x.example` })

    await expect(add({ kind: 'copy', email: 'last@x.example' })).rejects.toMatchObject({ code: 'address_limit' })
  })
})
