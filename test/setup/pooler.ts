/** PgBouncer before a database, in transaction mode: a connection goes to another client after each transaction. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, isPortFree, LOOPBACK } from '../../stack/free-port.ts'
import { postgresUser } from '../../stack/postgres/postgres-programs.ts'
import { until } from './soon.ts'

/** Connections to the server, for all clients: fewer than these have. */
const SERVER_CONNECTIONS = 6

/** @param program the path of `pgbouncer` @returns the url through it, and `stop` */
export async function startPooler(program: string, databaseUrl: string) {
  const { hostname, port, pathname, username, password } = new URL(databaseUrl)
  const folder = await mkdtemp(join(tmpdir(), 'simherd-pooler-'))
  const listen = await freePort()
  const name = pathname.slice(1)
  const settings = join(folder, 'pgbouncer.ini')
  await writeFile(
    settings,
    `[databases]
${name} = host=${hostname} port=${port} dbname=${name} user=${username} password=${password}
[pgbouncer]
listen_addr = ${LOOPBACK}
listen_port = ${listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${SERVER_CONNECTIONS}
max_client_conn = 200
`,
  )
  // It does not run as root, and reads its settings as the user that it runs as.
  const user = await postgresUser()
  await chmod(folder, 0o755)
  if (user !== undefined) await chown(settings, user.uid, user.gid)
  const child = spawn(program, [settings], { stdio: 'ignore', ...user })
  const ended = once(child, 'exit')
  await until('the pooler', async () => !(await isPortFree(listen)))
  const url = new URL(databaseUrl)
  url.host = `${LOOPBACK}:${listen}`
  return {
    url: url.href,
    stop: async () => {
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true })
    },
  }
}
