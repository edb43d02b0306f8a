/** `<data folder>/stack.json`: all addresses, for people, tests and tools. It exists while the stack runs. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { readJsonFile, writeJsonFile } from './files.ts'

const Text = Type.Union([Type.String(), Type.Null()])
const Pid = Type.Union([Type.Integer(), Type.Null()])

/** Addresses have no trailing slash. Null: not started here, or not there. */
export const Stack = Type.Object({
  apiUrl: Type.String(),
  internalUrl: Type.String(),
  workerUrl: Type.String(),
  docsUrl: Type.String(),
  consoleUrl: Text,
  tenantId: Text,
  tenantKey: Text,
  operatorKey: Type.String(),
  databaseUrl: Type.String(),
  redisUrl: Text,
  temporalAddress: Type.String(),
  temporalUiUrl: Text,
  smtpUrl: Type.String(),
  inboxUrl: Text,
  pids: Type.Object({ api: Pid, worker: Pid, postgres: Pid, temporal: Pid, carrier: Pid }),
  demo: Type.Union([Type.Literal('running'), Type.Literal('done'), Type.Literal('failed'), Type.Null()]),
})
export type Stack = Static<typeof Stack>
export type Pids = Stack['pids']

/** A command as it can be typed: it names the data folder, if that is not `.data` here. @param dataDir absolute */
export const typed = (dataDir: string, command: string): string =>
  dataDir === join(process.cwd(), '.data') ? command : `DATA_DIR=${dataDir} ${command}`

const pathOf = (dataDir: string) => join(dataDir, 'stack.json')

export const readStack = (dataDir: string): Promise<Stack | undefined> => readJsonFile(pathOf(dataDir), Stack)
export const removeStack = (dataDir: string): Promise<void> => rm(pathOf(dataDir), { force: true })

export interface StackFile {
  /** Changes some fields. Writes happen one after the other. Before {@link open}, changes are only remembered. */
  readonly change: (change: Partial<Omit<Stack, 'pids'>> & { readonly pids?: Partial<Pids> }) => Promise<void>
  /** Writes the file, and every change from now on. */
  readonly open: () => Promise<void>
}

export function stackFile(dataDir: string, first: Stack): StackFile {
  let stack = first
  let isOpen = false
  let last = Promise.resolve()
  const write = () => {
    if (isOpen) last = last.then(() => writeJsonFile(pathOf(dataDir), stack))
    return last
  }
  return {
    change: ({ pids, ...change }) => {
      stack = { ...stack, ...change, pids: { ...stack.pids, ...pids } }
      return write()
    },
    open: () => {
      isOpen = true
      return write()
    },
  }
}
