/** `simherd rules load`, `push`, `activate`, `rollback`, `history`, `show`, `shadow-log`, `explain`, `coverage`, `put`, `remove`: the commands that ask a service. */
import { type Command, Option } from 'commander'
import type { Settings } from '../../process/settings.ts'
import { ASKS } from '../help-text.ts'
import { id, wholeNumber } from '../option-values.ts'
import type { ChangeFlags } from './ask.ts'
import type { CheckFlags } from './check.ts'
import type { CoverageFlags } from './coverage.ts'
import type { ExplainFlags } from './explain.ts'
import type { PutFlags } from './files.ts'
import type { HistoryFlags } from './history.ts'
import type { RollbackFlags } from './load.ts'
import type { ShadowFlags } from './shadow-log.ts'

const output = () =>
  new Option('-o, --output <format>', 'text, or json for programs').choices(['text', 'json']).default('text')
const help = (text: string, example: string) =>
  `\n${ASKS}${text === '' ? '' : `\n${text}`}\n\nExample:\n  npx simherd rules ${example}`
const REASON = ['--reason <text>', 'why, for the history'] as const
const EXPECT = ['--expect <version>', 'only if this version is in force now; else exit code 4'] as const
const FOLDER = ['[folder]', 'folder of rule files; left out: RULES_DIR, or the shipped rules', ''] as const

/** @param rules the command `simherd rules` */
export function addLifeCommands(rules: Command, settings: () => Settings): void {
  const version = wholeNumber(0, 999_999_999)
  rules
    .command('load')
    .argument(...FOLDER)
    .description('Put the rule files of a folder in force, all of them or none.')
    .option(...REASON)
    .addOption(output())
    .option(...EXPECT, version)
    .addHelpText(
      'after',
      help(
        'With any fault the set before stays in force, and every fault is told: file, place, what was got, what would be right.',
        'load ./my-rules --expect 7 --reason "Vans are told at 80 %"',
      ),
    )
    .action(async (folder: string, flags: ChangeFlags) => {
      const { loadRules } = await import('./load.ts')
      await loadRules(settings(), folder, flags)
    })
  rules
    .command('push')
    .argument(...FOLDER)
    .description('Bring in the rule files of a folder as a version that is not in force.')
    .option(...REASON)
    .addOption(output())
    .addHelpText('after', help('', 'push ./my-rules'))
    .action(async (folder: string, flags: ChangeFlags) => {
      const { pushRules } = await import('./load.ts')
      await pushRules(settings(), folder, flags)
    })
  rules
    .command('activate')
    .argument('<version>', 'version of the rules', id)
    .description('Put a version in force.')
    .option(...REASON)
    .addOption(output())
    .option(...EXPECT, version)
    .addHelpText('after', help('', 'activate 8 --expect 7'))
    .action(async (chosen: number, flags: ChangeFlags) => {
      const { activateVersion } = await import('./load.ts')
      await activateVersion(settings(), chosen, flags)
    })
  rules
    .command('rollback')
    .description('Put the version in force that was so before.')
    .option('--to <version>', 'another version', id)
    .option(...REASON)
    .addOption(output())
    .option(...EXPECT, version)
    .addHelpText('after', help('', 'rollback --reason "Too many mails"'))
    .action(async (flags: RollbackFlags) => {
      const { rollBack } = await import('./load.ts')
      await rollBack(settings(), flags)
    })
  rules
    .command('history')
    .description('Which versions came in and were put in force when, by whom and why; newest first.')
    .option('--page <number>', 'page of 100 entries', wholeNumber(1, 999_999_999))
    .addOption(output())
    .addHelpText('after', help('', 'history'))
    .action(async (flags: HistoryFlags) => {
      const { ruleHistory } = await import('./history.ts')
      await ruleHistory(settings(), flags)
    })
  rules
    .command('show')
    .argument('<version>', 'version of the rules', id)
    .description('The files of a version.')
    .addOption(output())
    .addHelpText('after', help('', 'show 7'))
    .action(async (chosen: number, flags: CheckFlags) => {
      const { showVersion } = await import('./history.ts')
      await showVersion(settings(), chosen, flags)
    })
  rules
    .command('shadow-log')
    .description('What rules in stage shadow would have logged, mailed and suspended; newest first.')
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--rule <name>', 'only of this rule')
    .option('--version <version>', 'only of this version of the rules', id)
    .addOption(new Option('--does <what>', 'only this').choices(['log', 'mail', 'suspend']))
    .option('--page <number>', 'page of 100 entries', wholeNumber(1, 999_999_999))
    .addOption(output())
    .addHelpText('after', help('', 'shadow-log --tenant t0123456789ab --rule sim-overage'))
    .action(async (flags: ShadowFlags) => {
      const { shadowLog } = await import('./shadow-log.ts')
      await shadowLog(settings(), flags)
    })
  rules
    .command('explain')
    .description('Why rules fired or did not: an entry of the log as it was, or a subject as it is.')
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--entry <id>', 'an entry of the watchdog log: what was then', id)
    .option('--sim <id>', 'a SIM as it is now', id)
    .option('--pool <id>', 'a pool as it is now', id)
    .option('--rule <name>', 'only this rule')
    .addOption(output())
    .addHelpText(
      'after',
      help(
        'Without an entry, a SIM or a pool it is about the tenant itself. Nothing is changed.',
        'explain --tenant t0123456789ab --sim 7 --rule sim-overage',
      ),
    )
    .action(async (flags: ExplainFlags) => {
      const { explainRules } = await import('./explain.ts')
      await explainRules(settings(), flags)
    })
  rules
    .command('coverage')
    .description('Whom of an estate no rule in force can tell anything of, and why; what each rule did.')
    .requiredOption('--tenant <id>', 'the tenant')
    .option(
      '--days <number>',
      'count firings of so many days; left out: of this billing cycle and the one before',
      wholeNumber(1, 366),
    )
    .addOption(output())
    .addHelpText(
      'after',
      help(
        'It reads the whole estate and log of the tenant, and changes nothing. What tests cover of rules says "simherd rules test --coverage".',
        'coverage --tenant t0123456789ab',
      ),
    )
    .action(async (flags: CoverageFlags) => {
      const { ruleCoverage } = await import('./coverage.ts')
      await ruleCoverage(settings(), flags)
    })
  rules
    .command('put')
    .argument('<file>', 'a rule file')
    .description('Put one file into the rules in force; the others stay.')
    .option('--as <path>', 'path below the rules folder; left out: its folder and name, as in sim/sim-overage.json')
    .option(...REASON)
    .addOption(output())
    .option(...EXPECT, version)
    .addHelpText('after', help('', 'put ./my-rules/sim/sim-overage.json'))
    .action(async (file: string, flags: PutFlags) => {
      const { putRule } = await import('./files.ts')
      await putRule(settings(), file, flags)
    })
  rules
    .command('remove')
    .argument('<rule>', 'name of a rule in force')
    .description('Take one rule out of those in force; the others stay.')
    .option(...REASON)
    .addOption(output())
    .option(...EXPECT, version)
    .addHelpText('after', help('', 'remove sim-overage'))
    .action(async (rule: string, flags: ChangeFlags) => {
      const { removeRule } = await import('./files.ts')
      await removeRule(settings(), rule, flags)
    })
}
