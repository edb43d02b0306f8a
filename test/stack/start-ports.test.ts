/** Which ports `simherd start` chooses for its embedded servers, when others choose in the same moment. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { claimPort } from '../../cli/start/claims.ts'
import { choosePorts } from '../../cli/start/ports.ts'
import { writePid } from '../../stack/pids.ts'
import { freePort } from '../../stack/ports.ts'
import { temporaryFolder } from '../setup/folder.ts'

describe('ports of the embedded servers', () => {
  test('ten starts in the same moment choose fifty different ones', async () => {
    const claims = await temporaryFolder()
    const folders = await Promise.all(Array.from({ length: 10 }, () => temporaryFolder()))

    const chosen = await Promise.all(folders.map((folder) => choosePorts(folder, {}, claims)))

    expect(new Set(chosen.flatMap(({ ports }) => Object.values(ports))).size).toBe(50)
  })

  test('a start that goes on with its data has the ports of last time, where nobody else has them', async () => {
    const [claims, folder, other] = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()]
    const first = await choosePorts(folder, {}, claims)
    await first.giveBack()

    const again = await choosePorts(folder, {}, claims)
    const elsewhere = await choosePorts(other, {}, claims)

    expect(again.ports).toEqual(first.ports)
    expect(Object.values(elsewhere.ports).filter((port) => Object.values(again.ports).includes(port))).toEqual([])
  })

  test('a port that another program listens on is not chosen, and not claimed', async () => {
    const [claims, folder] = [await temporaryFolder(), await temporaryFolder()]
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    const last = { temporal: port, temporalUi: port, smtp: port, inbox: port, carrier: port }
    await writeFile(join(folder, 'ports.json'), JSON.stringify(last))

    const { ports } = await choosePorts(folder, {}, claims)

    expect(Object.values(ports)).not.toContain(port)
    const claimed = (await readdir(claims)).map((name) => Number(name.split('.')[0]))
    expect(claimed.toSorted()).toEqual(Object.values(ports).toSorted())
  })

  test('the claim of a killed start counts for nothing, and is cleared away', async () => {
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
