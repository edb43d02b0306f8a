/** Ports of the embedded servers: the same at every start while they are free. */
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { freePort, isPortFree } from '../../stack/ports.ts'
import { readJson, writeJson } from './files.ts'

const Ports = Type.Object({
  temporal: Type.Integer(),
  temporalUi: Type.Integer(),
  smtp: Type.Integer(),
  inbox: Type.Integer(),
  carrier: Type.Integer(),
})
export type Ports = Static<typeof Ports>

/** Where people look for these servers. */
const USUAL: Ports = { temporal: 7233, temporalUi: 8233, smtp: 1025, inbox: 8025, carrier: 8090 }

/**
 * Asked-for ports as they are; else those of the last run, the usual ones, or any, whichever is free first.
 */
export async function choosePorts(dataDir: string, asked: Partial<Ports>): Promise<Ports> {
  const path = join(dataDir, 'ports.json')
  const last = await readJson(path, Ports)
  const taken = new Set<number>()
  const choose = async (name: keyof Ports): Promise<number> => {
    const wish = asked[name]
    if (wish !== undefined) return wish
    for (const port of [last?.[name], USUAL[name]]) {
      if (port !== undefined && !taken.has(port) && (await isPortFree(port))) return port
    }
    return freePort()
  }
  const chosen = { ...USUAL }
  for (const name of ['temporal', 'temporalUi', 'smtp', 'inbox', 'carrier'] as const) {
    chosen[name] = await choose(name)
    taken.add(chosen[name])
  }
  await writeJson(path, chosen)
  return chosen
}
