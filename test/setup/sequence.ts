/** The order of test files: unit tests, the longest files, slow projects, the rest. So no long file starts last. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Projects that run before all others. */
const FIRST = ['unit']
/** Files that take minutes: one that mostly waits alternates with one that mostly computes. */
const LONG = [
  'e2e/main-job',
  'real-service/month-end',
  'e2e/two-of-each',
  'real-service/service',
  'faults/lifecycles',
].map((name) => `/${name}.test.ts`)
const THEN = ['workflows', 'stack', 'queues']

/** Files with a lower number run first. */
function placeOf({ project, moduleId }: TestSpecification): number {
  const first = FIRST.indexOf(project.name)
  if (first !== -1) return first - FIRST.length
  const long = LONG.findIndex((name) => moduleId.endsWith(name))
  if (long !== -1) return long
  const then = THEN.indexOf(project.name)
  return LONG.length + (then === -1 ? THEN.length : then)
}

export default class Sequence extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}
