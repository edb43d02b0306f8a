import { readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { printConsoleLink } from '../../../cli/commands/console.ts'
import { exportList } from '../../../cli/commands/export.ts'
import { importSimFile, unqueueSim } from '../../../cli/commands/sims.ts'
import { printTroubles } from '../../../cli/workflows/troubles.ts'
import { iccidOf } from '../../../domain/identifiers.ts'
import { failureOf } from '../../setup/command-failure.ts'
import { listenAnywhere } from '../../setup/listen.ts'
import { anIccid, aSim } from '../harness.ts'
import { useCommandHarness } from './harness.ts'

const command = useCommandHarness()
const { harness, lines } = command
async function aFile(name: string, text: string): Promise<string> {
  const file = join(command.folder, name)
  await writeFile(file, text)
  return file
}

describe('console', () => {
  const CONSOLE_URL = 'https://console.meadow.example/'

  test('prints a link of the console', async () => {
    await printConsoleLink({ ...command.settings, CONSOLE_URL }, {})

    expect(lines).toEqual([expect.stringMatching(/^https:\/\/console\.meadow\.example\/sign-in\/[\w-]{43}$/)])
  })

  test('refuses if there is none', async () => {
    const off = { ...command.settings, CONSOLE_PORT: 'off', DATA_DIR: command.folder }
    const { exitCode, message } = await failureOf(printConsoleLink(off, {}))

    expect([exitCode, message]).toEqual([2, expect.stringContaining('CONSOLE_PORT is off')])
  })
})

describe('sims unqueue', () => {
  test('takes back the queued change of a SIM', async () => {
    const { id } = await aSim(harness.tenant)
    await harness.tenant.ask('POST', '/api/tickets/provision', { simId: id })
    await harness.tenant.ask('POST', `/api/sims/${id}/queue-unprovision`)
    const ours = { tenant: harness.tenant.id }

    await unqueueSim(command.settings, { ...ours, sim: id })

    expect(lines).toEqual([`nothing is queued for SIM ${id} at the end of the billing cycle`])
    expect((await harness.tenant.ask('GET', `/api/sims/${id}`)).body).toMatchObject({ pendingUnassign: false })
    await expect(unqueueSim(command.settings, { ...ours, sim: 999_999 })).rejects.toMatchObject({ exitCode: 3 })
  })
})

describe('workflows troubles', () => {
  test('prints activities that fail, with their last failure', async () => {
    const { id: tenant, inside } = harness.tenant
    const [workflowId, at] = [`provision-and-activate:${tenant}:7`, '2026-11-20T12:00:00Z']
    const failure = { attempt: 5, code: 'unavailable', detail: 'It is away.' }
    const times = { since: at, failedAt: at, nextAttemptAt: at }
    const failing = [{ workflowId, activityId: '1', activity: 'openBothTickets', ...failure, ...times }]
    await inside('POST', '/internal/workflows/troubles', { failing, ended: [] })

    await printTroubles(command.settings, { tenant, page: 1, output: 'text' })

    expect(lines.filter((line) => !line.startsWith('─')).map((line) => line.split(/ {2,}/))).toEqual([
      ['id', 'activity', 'attempts', 'since', 'next', 'last failure'],
      [workflowId, 'openBothTickets', '5', '2026-11-20 12:00:00', '2026-11-20 12:00:00', 'It is away.'],
      ['1 in all'],
      ['Temporal does not answer: as the workers reported them.'],
    ])
  })
})

describe('sims import', () => {
  test('fails if a record is rejected, dry or not', async () => {
    // One with a wrong check digit, which is a warning.
    const right = iccidOf('894450010900000005')
    const iccid = `${right.slice(0, -1)}${(Number(right.at(-1)) + 1) % 10}`
    const file = await aFile('delivery.csv', `iccid;tag\r\n${iccid};A\r\n8,94E+18;B\r\n`)
    const tenant = harness.tenant.id

    const dry = await failureOf(importSimFile(command.settings, file, { tenant, dryRun: true }))
    const said = lines.splice(0)
    const run = await failureOf(importSimFile(command.settings, file, { tenant }))

    expect([dry.exitCode, dry.message]).toEqual([1, '1 of 2 records would be rejected'])
    expect(said.slice(0, 4)).toEqual([
      'dry run: nothing was written',
      'would be created  1',
      'rejected          1',
      'warnings          1',
    ])
    expect(said).toContainEqual(
      expect.stringMatching(/^ {2}record 1: line 3: iccid: got "8,94E\+18", which is a number/),
    )
    expect([run.exitCode, run.message]).toEqual([1, '1 of 2 records were rejected'])
    expect(lines[0]).toBe('created   1')
  })

  test('succeeds if every record is created', async () => {
    const file = await aFile('more.ndjson', `{"iccid":"${anIccid()}"}\n`)

    await importSimFile(command.settings, file, { tenant: harness.tenant.id })

    expect(lines[0]).toBe('created   1')
  })

  test('adds up SIMs that live at the carrier already', async () => {
    // With right check digits: a wrong one is a warning too.
    const [one, two, three, four] = [1, 2, 3, 4].map((n) => iccidOf(`89445001090000000${n}`))
    const active = `${one},1,2026-03-01T00:00:00Z,5\n${two},1,2026-03-01T00:00:00Z,7\n`
    const csv = `iccid,status,activatedAt,usageBytes\n${active}${three},2,,\n${four},,,\n`
    const file = await aFile('estate.csv', csv)

    await importSimFile(command.settings, file, { tenant: harness.tenant.id })

    expect(lines.slice(0, 9)).toEqual([
      'created            4',
      'rejected           0',
      'warnings           2',
      'Active             2',
      'Suspended          1',
      'Unprovisioned      1',
      'bytes used        12',
      'seconds of voice   0',
      'messages           0',
    ])
  })

  test.each([
    ['another ending', 'sims.xlsx', 2, 'expected a file that ends in .csv'],
    ['no file', 'missing.csv', 3, 'cannot be read'],
    ['a column that is none', 'wrong.csv', 2, 'did you mean iccid?'],
    ['an unknown column', 'unknown.csv', 2, 'or --ignore-unknown to pass it over'],
  ])('refuses %s', async (_, name, exitCode, message) => {
    if (name === 'wrong.csv') await aFile(name, 'icid\n1\n')
    if (name === 'unknown.csv') await aFile(name, 'iccid,hue\n1,red\n')
    const file = join(command.folder, name)
    const failure = await failureOf(importSimFile(command.settings, file, { tenant: harness.tenant.id }))

    expect([failure.exitCode, failure.message]).toEqual([exitCode, expect.stringContaining(message)])
  })
})

describe('export', () => {
  const ask = { filter: ['search=only this'] }

  test('writes the SIMs that match the filters', async () => {
    await harness.tenant.inside('POST', '/internal/sims', { sims: [{ iccid: anIccid(), tag: 'Only this' }] })
    const out = join(command.folder, 'sims.csv')

    await exportList(command.settings, 'sims', { ...ask, tenant: harness.tenant.id, out })

    const csv = await readFile(out, 'utf8')
    expect(csv.split('\r\n')).toHaveLength(3)
    expect(csv).toContain('Only this')
  })

  test('leaves no partial file if the service breaks off', async () => {
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/csv' })
      response.write('id,tag\r\n1,A\r\n', () => response.destroy())
    })
    const there = { ...command.settings, SERVICE_INTERNAL_URL: `http://127.0.0.1:${await listenAnywhere(server)}` }

    const failure = await failureOf(
      exportList(there, 'sims', { ...ask, tenant: harness.tenant.id, out: join(command.folder, 'broken.csv') }),
    )
    server.close()

    expect(failure.message).toContain('ended before it was whole')
    expect((await readdir(command.folder)).filter((name) => name.startsWith('broken'))).toEqual([])
  })

  test('leaves no file if it fails', async () => {
    const out = join(command.folder, 'none.csv')

    const failing = (tenant: string, filter: string[]) =>
      failureOf(exportList(command.settings, 'sims', { tenant, filter, out }))

    const unknown = await failing('t000000000000', ask.filter)
    const wrong = await failing(harness.tenant.id, ['status=9'])
    const shape = await failing(harness.tenant.id, ['status'])

    expect([unknown.exitCode, wrong.exitCode, shape.exitCode]).toEqual([3, 2, 2])
    expect(wrong.message).toContain('status')
    expect((await readdir(command.folder)).filter((name) => name.startsWith('none'))).toEqual([])
  })
})
