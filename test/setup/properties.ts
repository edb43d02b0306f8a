/**
 * What holds for every property: one whose runs were cut short before all were made has not held, and the runs that
 * were made are told to test/run.ts.
 */
import fc from 'fast-check'
import { noteRuns } from './notes.ts'

fc.configureGlobal({ markInterruptAsFailure: true })
fc.installGlobalPlugin(() => ({ onAllRunsComplete: ({ numRuns }) => noteRuns(numRuns) }))
