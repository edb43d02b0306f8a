/** `simherd sims …`, `export` and `tickets bulk`: the commands and their options. */
import { Argument, type Command, InvalidArgumentError } from 'commander'
import type { SimStatus } from '../../domain/codes.ts'
import type { BulkType } from '../../domain/tickets/bulk.ts'
import type { Settings } from '../../process/settings.ts'
import { ASKS } from '../help-text.ts'
import { id } from '../option-values.ts'
import type { BulkFlags } from './bulk-tickets.ts'
import type { ExportedList } from './export.ts'

/** @param settings reads the settings; called when a command needs them */
export function addEstateCommands(program: Command, settings: () => Settings): void {
  addImport(program, settings)
  addExport(program, settings)
  addBulkTickets(program, settings)
}

function addImport(program: Command, settings: () => Settings): void {
  const sims = program.command('sims').description('The SIMs of a tenant.')
  sims
    .command('unqueue')
    .requiredOption('--tenant <id>', 'the tenant')
    .requiredOption('--sim <id>', 'the SIM, by its id', id)
    .description('Take back what is queued for a SIM at the end of the billing cycle.')
    .addHelpText(
      'after',
      `
${ASKS}
With nothing queued nothing changes. What the month end has opened a ticket for is refused: cancel that ticket.

Example:
  npx simherd sims unqueue --tenant t0123456789ab --sim 7`,
    )
    .action(async (flags: { readonly tenant: string; readonly sim: number }) => {
      const { unqueueSim } = await import('./unqueue.ts')
      await unqueueSim(settings(), flags)
    })
  sims
    .command('import')
    .argument('<file>', 'CSV, NDJSON (.ndjson, .jsonl) or JSON')
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--dry-run', 'only say what would be created and rejected')
    .description(
      'Take in SIMs, as delivered or as they live at the carrier. Sent again, a file adds only what is missing.',
    )
    .addHelpText(
      'after',
      `
${ASKS}
A bad row rejects itself, not the rest; exit code 1 where one was rejected. Columns: docs/import-export.md.
With status, poolId, tariffId, activatedAt and usage, a running fleet comes in without a call to the carrier:
docs/take-over.md.

Example:
  npx simherd sims import ./delivery.csv --tenant t0123456789ab --dry-run`,
    )
    .action(async (file: string, { tenant, dryRun }: { readonly tenant: string; readonly dryRun?: boolean }) => {
      const { importSimFile } = await import('./sims.ts')
      await importSimFile(settings(), { file, tenantId: tenant, dryRun: dryRun ?? false })
    })
}

const EXPORTS: readonly ExportedList[] = ['sims', 'pools', 'tariffs', 'tickets', 'orders', 'events', 'watchdog-logs']

interface ExportFlags {
  readonly tenant: string
  readonly filter: readonly string[]
  readonly spreadsheet?: boolean
  readonly out?: string
}

function addExport(program: Command, settings: () => Settings): void {
  program
    .command('export')
    .addArgument(new Argument('<what>', 'the list').choices(EXPORTS))
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--out <file>', 'where to; left out: standard output')
    .option(
      '--filter <name=value>',
      'filter of the list, as the public interface has it; may be given several times',
      (filter: string, before: readonly string[]) => [...before, filter],
      [],
    )
    .option('--spreadsheet', 'for a spreadsheet program that opens the file: ICCIDs and the like stay text')
    .description('Write a list as CSV.')
    .addHelpText(
      'after',
      `
${ASKS}

Examples:
  npx simherd export sims --tenant t0123456789ab --filter status=1 --out active.csv
  npx simherd export events --tenant t0123456789ab --filter date=2026-11-20`,
    )
    .action(async (what: ExportedList, { tenant, filter, spreadsheet, out }: ExportFlags) => {
      const { exportList } = await import('./export.ts')
      await exportList(settings(), {
        what,
        tenantId: tenant,
        filters: filter,
        spreadsheet: spreadsheet ?? false,
        ...(out !== undefined && { out }),
      })
    })
}

const SIM_STATUS = { unprovisioned: 0, active: 1, suspended: 2 } as const
const simStatus = (text: string): SimStatus => {
  const known = Object.entries(SIM_STATUS).find(([name, code]) => text.toLowerCase() === name || text === String(code))
  if (known === undefined) throw new InvalidArgumentError(`It must be one of ${Object.keys(SIM_STATUS).join(', ')}.`)
  return known[1]
}

function addBulkTickets(program: Command, settings: () => Settings): void {
  program
    .command('tickets')
    .description('Tickets of many SIMs at once.')
    .command('bulk')
    .addArgument(
      new Argument('<type>', 'what each ticket asks for').choices([
        'activate',
        'suspend',
        'refresh',
        'send-sms',
        'provision',
        'unassign',
      ]),
    )
    .description('Open a ticket on each SIM of a file or a filter.')
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--file <csv>', 'CSV with a column iccid or simId')
    .option('--filter-status <status>', 'SIMs that are unprovisioned, active or suspended', simStatus)
    .option('--filter-pool <id>', 'SIMs in this pool', id)
    .option('--search <text>', 'SIMs with this in their ICCID, IMSI, MSISDN or tag')
    .option('--all', 'every SIM of the tenant')
    .option('--pool <id>', 'provision: into this pool', id)
    .option('--tariff <id>', 'provision: with this tariff', id)
    .option('--tag <text>', 'provision: with this tag')
    .option('--message <text>', 'send-sms: the text')
    .option('--dry-run', 'only say which SIMs would get a ticket, and which not and why')
    .option('--wait', 'wait until every ticket has ended; exit code 1 where one has failed')
    .addHelpText(
      'after',
      `
${ASKS}
A SIM that cannot have the ticket is refused by itself, and counted. At most 100,000 SIMs a run.

Examples:
  npx simherd tickets bulk suspend --tenant t0123456789ab --filter-pool 7 --filter-status active --dry-run
  npx simherd tickets bulk activate --tenant t0123456789ab --file sims.csv --wait`,
    )
    .action(async (type: BulkType, flags: BulkFlags) => {
      const { bulkTickets } = await import('./bulk-tickets.ts')
      await bulkTickets(settings(), type, flags)
    })
}
