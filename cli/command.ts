/** Makes the commands of `simherd`. A command loads the file of its action when it runs: help needs none of them. */
import { Argument, Command } from 'commander'
import { readSettings, type Settings } from '../process/settings.ts'
import { CommandFailure, ExitCode, wordsOf } from './failures.ts'
import { id } from './option-values.ts'

const ASKS = 'Asks the internal API at SERVICE_INTERNAL_URL with SERVICE_KEY; default: the one that "npm start" runs.'

/** Help of a command after its options. */
interface HelpText {
  readonly notes?: string
  /** Lines as typed into a shell. */
  readonly examples?: readonly string[]
}

/** A command without arguments, options and action. A failure is thrown, and does not end the process. */
export function command(name: string, description: string, { notes = '', examples = [] }: HelpText = {}): Command {
  const title = examples.length === 1 ? 'Example' : 'Examples'
  const shown = examples.length === 0 ? '' : `${title}:\n${examples.map((line) => `  ${line}`).join('\n')}`
  const parts = [notes, shown].filter((part) => part !== '')
  return new Command(name)
    .description(description)
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .addHelpText('after', parts.length === 0 ? '' : `\n${parts.join('\n\n')}`)
}

/** A command with subcommands. */
export const group = (name: string, description: string, members: readonly Command[], text?: HelpText): Command =>
  members.reduce((all, member) => all.addCommand(member), command(name, description, text))

/** A command that asks the service. @param examples without `npx simherd` */
export const serviceCommand = (name: string, description: string, examples: readonly string[], notes = ''): Command =>
  command(name, description, {
    notes: notes === '' ? ASKS : `${ASKS}\n${notes}`,
    examples: examples.map((line) => `npx simherd ${line}`),
  })

export interface TenantFlags {
  readonly tenant: string
}

/** A command that asks the service about a tenant. @param examples as of {@link serviceCommand} */
export const tenantCommand: typeof serviceCommand = (...words) =>
  serviceCommand(...words).requiredOption('--tenant <id>', 'the tenant')

/** An id as argument. @param list the command that shows it */
export const numberOf = (noun: string, list = 'list'): Argument =>
  new Argument(`<${noun}>`, `number of the ${noun}, from "${list}"`).argParser(id)

/**
 * The settings of the environment, with the overrides of the command line.
 *
 * @throws CommandFailure for a wrong setting
 */
export function settingsWith(change: Partial<Settings> = {}): Settings {
  try {
    return { ...readSettings(), ...change }
  } catch (error) {
    throw new CommandFailure(wordsOf(error), ExitCode.usage, { cause: error })
  }
}

/** Makes an action. @param load loads its function, which takes the settings, then the arguments and options */
export const withSettings =
  <A extends unknown[]>(load: () => Promise<(settings: Settings, ...args: A) => unknown>) =>
  async (...args: A): Promise<void> => {
    const settings = settingsWith()
    await (await load())(settings, ...args)
  }

/** As {@link withSettings}, for a function that takes no settings. */
export const withoutSettings =
  <A extends unknown[]>(load: () => Promise<(...args: A) => unknown>) =>
  async (...args: A): Promise<void> => {
    await (await load())(...args)
  }
