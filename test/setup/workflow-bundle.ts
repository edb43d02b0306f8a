/** The workflows' bundle of the run, for workers that a test starts in its own process. */
import { inject } from 'vitest'
import { readBundle } from '../../worker/bundle-workflows.ts'

export const workflowBundle = (): Promise<string> => readBundle(inject('workflowBundle'))
