/**
 * Settings for all property tests: a property that is interrupted before its last run fails, and the number of runs is
 * noted for test/run.ts.
 */
import fc from 'fast-check'
import { noteRuns } from './notes.ts'

fc.configureGlobal({ markInterruptAsFailure: true })
fc.installGlobalPlugin(() => ({ onAllRunsComplete: ({ numRuns }) => noteRuns(numRuns) }))
