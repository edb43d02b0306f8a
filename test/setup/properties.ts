/**
 * Settings for all property tests: they begin with the run's seed, a property that is interrupted before its last run
 * fails, and the number of runs is noted for test/run.ts.
 */
import fc from 'fast-check'
import { noteRuns } from './notes.ts'
import { SEED } from './seed.ts'

// Files that share a process share fast-check too: a second plugin would count each run twice.
const INSTALLED = Symbol.for('simherd.test.properties')
const once = globalThis as { [INSTALLED]?: true }

fc.configureGlobal({ markInterruptAsFailure: true, seed: SEED })
if (once[INSTALLED] === undefined) {
  fc.installGlobalPlugin(() => ({ onAllRunsComplete: ({ numRuns }) => noteRuns(numRuns) }))
  once[INSTALLED] = true
}
