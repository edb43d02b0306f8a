/**
 * The order of test files: a project after the other, since its files share what they import, and in each the longest
 * first. Projects that mostly wait come first, and those whose files are short last. So no long file starts last.
 *
 * test/minutes.json says what files took (`npm test -- --record`). `TEST_ORDER=random` shuffles them by the run's seed,
 * to show that no file depends on those before it.
 */
import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import minutes from '../minutes.json' with { type: 'json' }
import { randomFrom, SEED } from './seed.ts'

const PROJECTS = ['demo', 'faults', 'e2e', 'workflows', 'stack', 'adapters', 'alone', 'service', 'api', 'store', 'unit']
const TOOK: Readonly<Record<string, number>> = minutes
/** A new file may be long. */
const UNKNOWN = Number.MAX_VALUE

const placeOf = ({ project }: TestSpecification) => PROJECTS.indexOf(project.name)
const minutesOf = ({ moduleId }: TestSpecification) => TOOK[relative('', moduleId)] ?? UNKNOWN

export default class Sequence extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    if (process.env.TEST_ORDER === 'random') return shuffled(files)
    return files.toSorted((a, b) => placeOf(a) - placeOf(b) || minutesOf(b) - minutesOf(a))
  }
}

/** Still a project after the other. */
function shuffled(files: readonly TestSpecification[]): TestSpecification[] {
  const { real } = randomFrom(SEED)
  const drawn = files.map((file) => ({ file, place: placeOf(file) + real() }))
  return drawn.toSorted((a, b) => a.place - b.place).map(({ file }) => file)
}
