/** `simherd rules …`: the commands and their options. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import { command, group, serviceCommand, settingsWith, withoutSettings, withSettings } from '../command.ts'
import { id, wholeNumber } from '../option-values.ts'
import { OUTPUT } from '../output.ts'
import type { WatchFlags } from './watch.ts'

const TENANT = '--tenant t0123456789ab'
const REASON = ['--reason <text>', 'the reason, for the history'] as const
const RULES = ['[folder]', 'folder of rule files; default: the shipped rules', ''] as const
const FOLDER = ['[folder]', 'folder of rule files; default: RULES_DIR, or the shipped rules', ''] as const
const PAGE = ['--page <number>', 'page of 100 entries', wholeNumber(1, 999_999_999)] as const

/** A command that reads folders and needs no service. */
const onFolder = (name: string, description: string, example: string, notes = '') =>
  command(name, `${description} Needs no service.`, {
    notes,
    examples: [`npx simherd rules ${name} ${example}`],
  }).addOption(OUTPUT)
const onService = (name: string, description: string, example: string, notes = '') =>
  serviceCommand(name, description, [`rules ${name} ${example}`.trim()], notes).addOption(OUTPUT)
const withExpect = (change: Command): Command =>
  change
    .option(...REASON)
    .option('--expect <version>', 'only if this version is in force now; else exit code 4', wholeNumber(0, 999_999_999))

function toThreshold(text: string): number {
  const percent = Number(text)
  if (!(percent >= 0 && percent <= 100)) throw new InvalidArgumentError('expected a number from 0 to 100.')
  return percent
}

const local = [
  onFolder(
    'check',
    'Check the rule files of a folder, and run their examples.',
    './my-rules',
    'Each fault is a line: file, line, column, place, value found, value expected. With any fault the exit code is 1.',
  )
    .argument(...RULES)
    .action(withoutSettings(async () => (await import('./check.ts')).checkFolder)),
  onFolder(
    'lint',
    'Find odd rules in a folder: never met, redundant, too frequent.',
    './my-rules --strict',
    'A rule mutes a finding with the reason: "lint": {"no-clear": "it ends with the cycle"}.',
  )
    .argument(...RULES)
    .option('--strict', 'a finding is a failure')
    .action(withoutSettings(async () => (await import('./lint.ts')).lintFolder)),
  onFolder(
    'test',
    'Play the timelines in a folder of rules, and compare.',
    './my-rules --coverage --threshold 90 --junit results.xml',
    `A test lists events of a few SIMs over time, and all effects of the rules. The exit code is 1 if a test fails, or a
rule is below the threshold.`,
  )
    .argument('[folder]', 'folder of rules and their tests; default: the shipped ones', '')
    .argument('[files...]', 'only these test files, such as sim/sim-overage.test.json')
    .option('--coverage', 'list the comparisons of the rules that no test has tried')
    .option('--threshold <percent>', 'with --coverage: the least share of them that each rule needs', toThreshold)
    .option('--junit <file>', 'write the results as JUnit XML too')
    .action(withoutSettings(async () => (await import('./test.ts')).testRules)),
  onFolder(
    'diff',
    'Compare two folders of rules by meaning: conditions, subjects, actions, texts.',
    './rules-in-force ./my-rules',
  )
    .argument('<before>', 'folder of rule files')
    .argument('<after>', 'another')
    .action(withoutSettings(async () => (await import('./diff.ts')).diffFolders)),
  command('watch', 'Check, lint and test the rules of a folder on each save, and print changes, until Ctrl-C.', {
    notes:
      'Without --load it needs no service. With it, a change of the rules by another person ends it with exit code 4.',
    examples: ['npx simherd rules watch ./my-rules'],
  })
    .argument('<folder>', 'folder of rule files')
    .option('--load', 'put each state in force that has no faults and passes its tests')
    .option(...REASON)
    .action(async (folder: string, flags: WatchFlags) => {
      const { watchFolder } = await import('./watch.ts')
      const ending = new AbortController()
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort())
      await watchFolder(folder, flags, { settings: settingsWith, signal: ending.signal })
    }),
]

const changes = [
  withExpect(
    onService(
      'load',
      'Put the rule files of a folder in force, all of them or none.',
      './my-rules --expect 7 --reason "Vans are reported at 80 %"',
      'With any fault the set before stays in force. Each fault is a line: file, place, value found, value expected.',
    ),
  )
    .argument(...FOLDER)
    .action(withSettings(async () => (await import('./load.ts')).loadRules)),
  onService('push', 'Store the rule files of a folder as a version that is not in force.', './my-rules')
    .argument(...FOLDER)
    .option(...REASON)
    .action(withSettings(async () => (await import('./load.ts')).pushRules)),
  withExpect(onService('activate', 'Put a version in force.', '8 --expect 7'))
    .argument('<version>', 'version of the rules', id)
    .action(withSettings(async () => (await import('./load.ts')).activateVersion)),
  withExpect(onService('rollback', 'Put the previous version in force again.', '--reason "Too many mails"'))
    .option('--to <version>', 'another version', id)
    .action(withSettings(async () => (await import('./load.ts')).rollBack)),
  withExpect(
    onService('put', 'Put one file into the rules in force; the others stay.', './my-rules/sim/sim-overage.json'),
  )
    .argument('<file>', 'a rule file')
    .option('--as <path>', 'path below the rules folder; default: its folder and name, as in sim/sim-overage.json')
    .action(withSettings(async () => (await import('./files.ts')).putRule)),
  withExpect(onService('remove', 'Remove one rule from the rules in force; the others stay.', 'sim-overage'))
    .argument('<rule>', 'name of a rule in force')
    .action(withSettings(async () => (await import('./files.ts')).removeRule)),
]

const questions = [
  onService(
    'backtest',
    'Show the effects that rules would have had in past billing cycles, next to the log.',
    `./my-rules ${TENANT}`,
    `A worker runs it, one at a time, and continues when the command ends; its report is kept for 30 days. The usage of the
cycles is copied into temporary tables. The tenant is not changed.`,
  )
    .argument('[folder]', 'folder of rule files; default: --version, or the rules in force', '')
    .option('--tenant <id>', 'the tenant')
    .option('--version <version>', 'a stored version of the rules', id)
    .option('--cycles <number>', 'number of ended billing cycles, the last ones, 1 to 3', wholeNumber(1, 3), 1)
    .option('--no-wait', 'print its id, and do not wait for the report')
    .option('--id <id>', 'the report of an earlier backtest', id)
    .action(withSettings(async () => (await import('./backtest.ts')).backtestRules)),
  onService('history', 'List versions and activations, with author and reason, newest first.', '')
    .option('--version <version>', 'only of this version of the rules', id)
    .option(...PAGE)
    .action(withSettings(async () => (await import('./history.ts')).ruleHistory)),
  onService('show', 'Print the files of a version.', '7')
    .argument('<version>', 'version of the rules', id)
    .action(withSettings(async () => (await import('./history.ts')).showVersion)),
  onService(
    'shadow-log',
    'List log entries, mails and suspensions that rules in stage shadow would have made, newest first.',
    `${TENANT} --rule sim-overage`,
  )
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--rule <name>', 'only of this rule')
    .option('--version <version>', 'only of this version of the rules', id)
    .addOption(new Option('--does <what>', 'only this').choices(['log', 'mail', 'suspend']))
    .option(...PAGE)
    .action(withSettings(async () => (await import('./shadow-log.ts')).shadowLog)),
  onService(
    'explain',
    'Explain why rules fired or did not: for an entry of the log, or for a subject now.',
    `${TENANT} --sim 7 --rule sim-overage`,
    'Without an entry, a SIM, a pool or a tag it explains the tenant itself. Changes nothing.',
  )
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--entry <id>', 'an entry of the watchdog log, at its time', id)
    .option('--sim <id>', 'a SIM, now', id)
    .option('--pool <id>', 'a pool, now', id)
    .option('--tag <id>', 'the SIMs of a tag together, now', id)
    .option('--rule <name>', 'only this rule')
    .action(withSettings(async () => (await import('./explain.ts')).explainRules)),
  onService(
    'coverage',
    'List the subjects of an estate without an effective rule, with reasons, and the activity of each rule.',
    TENANT,
    `Reads the whole estate and log of the tenant, and changes nothing. "npx simherd rules test --coverage" shows the coverage
of rules by tests.`,
  )
    .requiredOption('--tenant <id>', 'the tenant')
    .option(
      '--days <number>',
      'count firings of so many days; default: of this billing cycle and the one before',
      wholeNumber(1, 366),
    )
    .action(withSettings(async () => (await import('./coverage.ts')).ruleCoverage)),
]

export const rules = group('rules', "The watchdog's rules: check and test a set, put it in force.", [
  ...local,
  ...changes,
  ...questions,
])
