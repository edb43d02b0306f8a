/**
 * How `simherd start` ends. The first Ctrl-C, SIGTERM or closed terminal ends everything in order, the second at once.
 */
import { wordsOf } from '../failures.ts'
import type { Reporter } from '../reporter.ts'
import type { Pids } from '../stack-file.ts'

/** The parts to end, and the signal that starts the ending. */
export class StartEnding {
  readonly told: Promise<void>
  readonly signal: AbortSignal
  readonly #abort = new AbortController()
  readonly #stops: { readonly name: string; readonly stop: () => Promise<void> }[] = []
  readonly #reporter: Reporter
  #pids: Pids = { api: null, worker: null, postgres: null, temporal: null, carrier: null }

  constructor(reporter: Reporter) {
    this.#reporter = reporter
    this.signal = this.#abort.signal
    this.told = new Promise((resolve) => this.signal.addEventListener('abort', () => resolve()))
  }

  listen(): void {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => this.#hear())
  }

  #hear(): void {
    if (this.signal.aborted) return this.#endAtOnce()
    this.#reporter.heading('Ending everything in order (once more: at once)')
    this.#abort.abort()
  }

  /** Kills all processes: the servers would outlive this one, and nothing here can wait for them. */
  #endAtOnce(): void {
    for (const pid of Object.values(this.#pids)) {
      try {
        if (pid !== null) process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended already.
      }
    }
    process.exit(130)
  }

  readonly note = (pids: Partial<Pids>): void => {
    this.#pids = { ...this.#pids, ...pids }
  }

  /** @param name empty: nothing is printed about it */
  readonly add = (name: string, stop: () => Promise<void>): void => {
    this.#stops.push({ name, stop })
  }

  /** Ends the last one first. A failure does not stop the rest. */
  async endAll(): Promise<void> {
    for (let last = this.#stops.pop(); last !== undefined; last = this.#stops.pop()) {
      const { name, stop } = last
      const ended =
        name === '' ? stop() : this.#reporter.step({ doing: `ending ${name}`, done: `${name} has ended` }, stop)
      await ended.catch((error: unknown) => this.#reporter.warn(`${name}: ${wordsOf(error)}`))
    }
  }
}
