/** `simherd rules …`: the commands and their options. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Settings } from '../../process/settings.ts'
import { ASKS } from '../help-text.ts'
import { id, wholeNumber } from '../option-values.ts'
import type { BacktestFlags } from './backtest.ts'
import type { CheckFlags } from './check.ts'
import { addLifeCommands } from './life-commands.ts'
import type { LintFlags } from './lint.ts'
import type { TestFlags } from './test.ts'
import type { WatchFlags } from './watch.ts'

const output = () =>
  new Option('-o, --output <format>', 'text, or json for programs').choices(['text', 'json']).default('text')

function toThreshold(text: string): number {
  const percent = Number(text)
  if (!(percent >= 0 && percent <= 100)) throw new InvalidArgumentError('expected a number from 0 to 100.')
  return percent
}

/** @param settings reads the settings; called when a command needs them */
export function addRuleCommands(program: Command, settings: () => Settings): void {
  const rules = program.command('rules').description("The watchdog's rules: check a set, put it in force.")
  rules
    .command('check')
    .argument('[folder]', 'folder of rule files; left out: the shipped rules', '')
    .description('Check the rule files of a folder, and run their examples. Needs no service.')
    .addOption(output())
    .addHelpText(
      'after',
      `
Every fault is a line: file, line, column, place, what was got, what would be right. With any the exit code is 1.

Example:
  npx simherd rules check ./my-rules`,
    )
    .action(async (folder: string, flags: CheckFlags) => {
      const { checkRules } = await import('./check.ts')
      await checkRules(folder, flags)
    })
  rules
    .command('lint')
    .argument('[folder]', 'folder of rule files; left out: the shipped rules', '')
    .description('Say what is odd in the rules of a folder: never met, said twice, told too often. Needs no service.')
    .addOption(output())
    .option('--strict', 'a finding is a failure')
    .addHelpText(
      'after',
      `
A rule mutes a finding with the reason: "lint": {"no-clear": "it ends with the cycle"}.

Example:
  npx simherd rules lint ./my-rules --strict`,
    )
    .action(async (folder: string, flags: LintFlags) => {
      const { lintFolder } = await import('./lint.ts')
      await lintFolder(folder, flags)
    })
  rules
    .command('test')
    .argument('[folder]', 'folder of rules and their tests; left out: the shipped ones', '')
    .argument('[files...]', 'of its test files only these, such as sim/sim-overage.test.json')
    .description('Play the timelines beside the rules of a folder, and compare. Needs no service.')
    .addOption(output())
    .option('--coverage', 'say which comparisons of the rules no test has tried')
    .option('--threshold <percent>', 'with --coverage: the least part of them that each rule needs', toThreshold)
    .option('--junit <file>', 'write the results as JUnit XML too')
    .addHelpText(
      'after',
      `
A test says what happens to a few SIMs in the course of time, and all that the rules do then. The exit code is 1 where a
test fails, or a rule is below the threshold.

Example:
  npx simherd rules test ./my-rules --coverage --threshold 90 --junit results.xml`,
    )
    .action(async (folder: string, files: string[], flags: TestFlags) => {
      const { testRules } = await import('./test.ts')
      await testRules(folder, files, flags)
    })
  rules
    .command('diff')
    .argument('<before>', 'folder of rule files')
    .argument('<after>', 'another')
    .description('What differs between two folders of rules by meaning: when, for whom, what, words. Needs no service.')
    .addOption(output())
    .addHelpText('after', '\nExample:\n  npx simherd rules diff ./rules-in-force ./my-rules')
    .action(async (before: string, after: string, flags: CheckFlags) => {
      const { diffFolders } = await import('./diff.ts')
      await diffFolders(before, after, flags)
    })
  rules
    .command('watch')
    .argument('<folder>', 'folder of rule files')
    .description('Check, lint and test the rules of a folder on each save, and print what has changed, until Ctrl-C.')
    .option('--load', 'put each state without faults, whose tests pass, in force at a service')
    .option('--reason <text>', 'why, for the history')
    .addHelpText(
      'after',
      `
Without --load it needs no service. With it, what somebody else puts in force meanwhile ends it with exit code 4.

Example:
  npx simherd rules watch ./my-rules`,
    )
    .action(async (folder: string, flags: WatchFlags) => {
      const { watchFolder } = await import('./watch.ts')
      const ending = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort())
      await watchFolder(folder, flags, { settings, signal: ending.signal })
    })
  rules
    .command('backtest')
    .argument('[folder]', 'folder of rule files; left out: --version, or what is in force', '')
    .option('--tenant <id>', 'whose past')
    .option('--version <version>', 'a stored version of the rules', id)
    .option('--cycles <number>', 'how many of the billing cycles that ended last, 1 to 3', wholeNumber(1, 3), 1)
    .option('--no-wait', 'print its id, and do not wait for the report')
    .option('--id <id>', 'the report of one that was asked for before', id)
    .description(
      'Say what rules would have done in past billing cycles, beside the log. Changes nothing of the tenant.',
    )
    .addOption(output())
    .addHelpText(
      'after',
      `
${ASKS}
A worker does it, one at a time, and goes on when the command ends; its report is kept for 30 days. The usage of the
cycles is copied into temporary tables.

Example:
  npx simherd rules backtest ./my-rules --tenant t0123456789ab`,
    )
    .action(async (folder: string, flags: BacktestFlags) => {
      const { backtestRules } = await import('./backtest.ts')
      await backtestRules(settings(), folder, flags)
    })
  addLifeCommands(rules, settings)
}
