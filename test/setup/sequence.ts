/** The order of test files: decisions first, then what takes longest, so that no long file begins when all else is done. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const FIRST = ['unit', 'e2e', 'workflows', 'stack', 'queues']
/** By their names: those of a project that take minutes. */
const LONG = ['lifecycles.test.ts', 'month-end-service.test.ts', 'main-job.test.ts']

const placeOf = ({ project, moduleId }: TestSpecification): number => {
  const place = FIRST.indexOf(project.name)
  const long = LONG.some((name) => moduleId.endsWith(`/${name}`))
  return (place === -1 ? FIRST.length : place) - (long ? 0.5 : 0)
}

export default class Sequence extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}
