/** Which ports `simherd start` chooses for its embedded servers, also when others choose at the same moment. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { claimPort } from '../../cli/start/claims.ts'
import { choosePorts } from '../../cli/start/ports.ts'
import { freePort } from '../../stack/free-port.ts'
import { writePid } from '../../stack/pids.ts'
import { temporaryFolder } from '../setup/folder.ts'
import { listening } from '../setup/listening.ts'

test('freePort draws no port that systems give to outgoing connections', async () => {
  const ports = await Promise.all(Array.from({ length: 100 }, () => freePort()))
  expect(ports.filter((port) => port < 15_000 || port > 32_767)).toEqual([])
})

describe('choosePorts', () => {
  test('chooses fifty different ports for ten simultaneous starts', async () => {
    const claims = await temporaryFolder()
    const folders = await Promise.all(Array.from({ length: 10 }, () => temporaryFolder()))

    const chosen = await Promise.all(folders.map((folder) => choosePorts(folder, {}, claims)))

    expect(new Set(chosen.flatMap(({ ports }) => Object.values(ports))).size).toBe(50)
  })

  test('chooses the ports of last time again', async () => {
    const [claims, folder, other] = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()]
    const first = await choosePorts(folder, {}, claims)
    await first.giveBack()

    const again = await choosePorts(folder, {}, claims)
    const elsewhere = await choosePorts(other, {}, claims)

    expect(again.ports).toEqual(first.ports)
    expect(Object.values(elsewhere.ports).filter((port) => Object.values(again.ports).includes(port))).toEqual([])
  })

  test('skips a port another program listens on', async () => {
    const [claims, folder] = [await temporaryFolder(), await temporaryFolder()]
    const port = await listening()
    const last = { temporal: port, temporalUi: port, smtp: port, inbox: port, carrier: port }
    await writeFile(join(folder, 'ports.json'), JSON.stringify(last))

    const { ports } = await choosePorts(folder, {}, claims)

    expect(Object.values(ports)).not.toContain(port)
    const claimed = (await readdir(claims)).map((name) => Number(name.split('.')[0]))
    expect(claimed.toSorted()).toEqual(Object.values(ports).toSorted())
  })

  test('ignores and removes the claim of a killed start', async () => {
    const claims = await temporaryFolder()
    const port = await freePort()
    const killed = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 1e6)'])
    await writePid(join(claims, `${port}.killed`), killed.pid ?? 0)
    expect(await claimPort(claims, port)).toBeUndefined()
    const gone = once(killed, 'close')
    killed.kill('SIGKILL')
    await gone

    expect(await claimPort(claims, port)).toBeTypeOf('function')
    expect(await readdir(claims)).not.toContain(`${port}.killed`)
  })
})
