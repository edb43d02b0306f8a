/** Ports of the embedded servers: the same at every start, if they are free. */
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { freePort, isPortFree } from '../../stack/free-port.ts'
import { readJsonFile, writeJsonFile } from '../files.ts'
import { claimPort, claimsFolder } from './claims.ts'

const Ports = Type.Object({
  temporal: Type.Integer(),
  temporalUi: Type.Integer(),
  smtp: Type.Integer(),
  inbox: Type.Integer(),
  carrier: Type.Integer(),
})
export type Ports = Static<typeof Ports>

/** The usual ports of these servers. */
const USUAL: Ports = { temporal: 7233, temporalUi: 8233, smtp: 1025, inbox: 8025, carrier: 8090 }

/** The chosen ports, and how to release the claims on them. */
export interface ChosenPorts {
  readonly ports: Ports
  readonly giveBack: () => Promise<void>
}

/**
 * Takes requested ports unchanged. Else takes the first free one of: the last run's port, the usual port, any port.
 * Two simultaneous starts never choose the same port.
 */
export async function choosePorts(
  dataDir: string,
  asked: Partial<Ports>,
  claims = claimsFolder(),
): Promise<ChosenPorts> {
  const path = join(dataDir, 'ports.json')
  const last = await readJsonFile(path, Ports)
  const taken: (() => Promise<void>)[] = []
  const take = async (port: number): Promise<boolean> => {
    const giveBack = await claimPort(claims, port)
    if (giveBack === undefined) return false
    const isFree = await isPortFree(port)
    if (isFree) taken.push(giveBack)
    else await giveBack()
    return isFree
  }
  const choose = async (name: keyof Ports): Promise<number> => {
    const wanted = asked[name]
    if (wanted !== undefined) return wanted
    for (const port of [last?.[name], USUAL[name]]) {
      if (port !== undefined && (await take(port))) return port
    }
    for (;;) {
      const port = await freePort()
      if (await take(port)) return port
    }
  }
  const ports = { ...USUAL }
  for (const name of ['temporal', 'temporalUi', 'smtp', 'inbox', 'carrier'] as const) ports[name] = await choose(name)
  await writeJsonFile(path, ports)
  const giveBack = async () => {
    for (const one of taken) await one()
  }
  return { ports, giveBack }
}
