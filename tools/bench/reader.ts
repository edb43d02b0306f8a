/** A thread that sends GET requests, eight at a time, and reports how long they took. Started by reads.ts. */
import { parentPort } from 'node:worker_threads'

export interface Reading {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly requests: number
}

const AT_ONCE = 8

parentPort?.on('message', ({ url, headers, requests }: Reading) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  void read(url, headers, requests).then((ms) => parentPort?.postMessage(ms))
})

/** @returns milliseconds of all; -1 if one failed */
async function read(url: string, headers: Readonly<Record<string, string>>, requests: number): Promise<number> {
  const from = performance.now()
  let left = requests
  let failed = false
  const one = async () => {
    while (left-- > 0) {
      const response = await fetch(url, { headers })
      await response.arrayBuffer()
      failed ||= !response.ok
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
  return failed ? -1 : performance.now() - from
}
