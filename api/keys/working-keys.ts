/** Knows which keys work, without a query for each. For callers who share an address with a flood of bad keys. */
import { timingSafeEqual } from 'node:crypto'
import { hashSecret } from '../../service/tenants/create-key.ts'
import { workingKeys } from '../../service/tenants/rows/keys.ts'
import { inPlatform, type Store } from '../../store/tenancy.ts'

/**
 * A new key works behind such an address after this time, in milliseconds. A flood causes no more frequent reads: each
 * is of all keys.
 */
export const READ_AGAIN_MS = 1000

/** @returns a function that returns whether a key works, as of 1 s ago at the most */
export function knowWorkingKeys(store: Store) {
  let known: ReadonlyMap<string, Buffer> = new Map()
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  const isKnown = ({ id, secret }: { readonly id: string; readonly secret: string }) => {
    const hash = known.get(id)
    return hash !== undefined && timingSafeEqual(hash, hashSecret(secret))
  }
  const read = async () => {
    known = await inPlatform(store, workingKeys)
  }
  return async (key: { readonly id: string; readonly secret: string }): Promise<boolean> => {
    if (isKnown(key)) return true
    if (reading === undefined && store.clock() - readAt >= READ_AGAIN_MS) {
      readAt = store.clock()
      reading = read().finally(() => {
        reading = undefined
      })
    }
    await reading
    return isKnown(key)
  }
}
