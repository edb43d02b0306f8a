/**
 * Preloaded into supervised processes (`node --import`): when the supervisor dies, however it dies, its end
 * of our stdin closes, and we end in order as on SIGTERM. So a SIGKILL of the supervisor leaves no orphans.
 */
import { isMainThread } from 'node:worker_threads'

// Threads are preloaded like processes, but have a stdin of their own, which is at its end from the beginning.
if (isMainThread) {
  process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM'))
  process.stdin.on('error', () => process.kill(process.pid, 'SIGTERM'))
  process.stdin.resume()
  // It must not keep a process alive that has nothing left to do; a pipe is a socket here.
  if ('unref' in process.stdin && typeof process.stdin.unref === 'function') process.stdin.unref()
}
