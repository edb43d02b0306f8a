/** `simherd rules promote` and `demote`: how far a rule may go, without a new file. */
import type { Settings } from '../../config/index.ts'
import { STAGES, type Stage } from '../../rules/rule-file.ts'
import { CommandFailure, ExitCode } from '../failures.ts'
import { responseOf } from '../service.ts'
import { askingAboutRules, type ChangeFlags, changeBody, tell } from './ask.ts'

export interface StageFlags extends Pick<ChangeFlags, 'reason' | 'output'> {
  readonly to?: Stage
  readonly untested?: boolean
}

/**
 * Puts a rule into a higher or a lower stage. Left out, `to` is the next one.
 *
 * @throws CommandFailure if no such rule is in force, or `to` leads the other way
 */
export async function moveStage(
  settings: Settings,
  name: string,
  direction: 'promote' | 'demote',
  flags: StageFlags,
): Promise<void> {
  const { to, reason, untested } = flags
  await askingAboutRules(settings, async (service) => {
    const { rules } = await responseOf(service.GET('/internal/rules'))
    const rule = rules.find((one) => one.name === name)
    if (rule === undefined) throw new CommandFailure(`no rule ${name} is in force`, ExitCode.notFound)
    const stage = stageFrom(rule.stage, direction, to)
    const body = {
      stage,
      ...(untested === true && { untested }),
      ...changeBody(reason === undefined ? {} : { reason }),
    }
    const set = await responseOf(service.PUT('/internal/rules/stages/{name}', { params: { path: { name } }, body }))
    tell(flags, set, () => `${name}: ${rule.stage} → ${stage}; every subject is evaluated anew`)
  })
}

function stageFrom(from: Stage, direction: 'promote' | 'demote', to: Stage | undefined): Stage {
  const step = direction === 'promote' ? 1 : -1
  const at = STAGES.indexOf(from)
  const stage = to ?? STAGES[at + step]
  if (stage !== undefined && Math.sign(STAGES.indexOf(stage) - at) === step) return stage
  const expected = step === 1 ? STAGES.slice(at + 1) : STAGES.slice(0, at)
  throw new CommandFailure(
    `--to: got ${stage ?? 'none'}, expected ${expected.join(', ') || `nothing: ${from} is the ${step === 1 ? 'highest' : 'lowest'} stage`}`,
    ExitCode.usage,
  )
}
