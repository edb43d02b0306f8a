/**
 * Preloaded into supervised processes (`node --import`). When the supervisor dies, even by SIGKILL, its end of our
 * stdin closes. Then this process ends as after SIGTERM, so no orphans are left.
 */
import { isMainThread } from 'node:worker_threads'

// Threads are preloaded like processes. But their stdin is separate, and ended from the beginning.
if (isMainThread) {
  process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM'))
  process.stdin.on('error', () => process.kill(process.pid, 'SIGTERM'))
  process.stdin.resume()
  // The pipe must not keep a process alive that has nothing left to do. Here a pipe is a socket.
  if ('unref' in process.stdin && typeof process.stdin.unref === 'function') process.stdin.unref()
}
