/** One PostgreSQL and, if installed, one Redis for the whole run. */
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startPostgres } from '../../stack/postgres/postgres.ts'
import { startRedis } from '../../stack/redis.ts'
import { migrate } from '../../store/migrate/migrate.ts'
import { share } from './shared.ts'
import { TEMPLATE } from './template.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The database for administration; tests get their own from `freshDatabase`. */
    postgresUrl: string
    /** Its major version. */
    postgresMajor: number
    /** Null if redis-server is not installed. */
    redisUrl: string | null
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await share('postgres', startTemplateServer)
  const redis = await share('redis', startOptionalRedis)
  project.provide('postgresUrl', postgres.server.url)
  project.provide('postgresMajor', postgres.server.major)
  project.provide('redisUrl', redis.server.url)
  return async () => {
    await redis.leave()
    await postgres.leave()
  }
}

async function startTemplateServer() {
  const dataDir = await mkdtemp(join(process.env.TEST_DATABASES ?? tmpdir(), 'simherd-test-postgres-'))
  // The database has a user of its own if root runs the tests.
  await chmod(dataDir, 0o755)
  // The folder of another PostgreSQL than the embedded one.
  const programs = process.env.TEST_POSTGRES
  const server = await startPostgres({ dataDir, durable: false, ...(programs !== undefined && { programs }) })
  const stop = async () => {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
  let major = 0
  try {
    await execute(server.url, `create database ${TEMPLATE}`)
    const template = new URL(server.url)
    template.pathname = `/${TEMPLATE}`
    await migrate(template.href)
    const version = `select current_setting('server_version_num')::integer / 10000 as major`
    major = (await execute<{ major: number }>(server.url, version)).rows[0]?.major ?? 0
  } catch (error) {
    await stop()
    throw error
  }
  return { url: server.url, pid: server.pid, major, stop }
}

async function startOptionalRedis() {
  const server = await startRedis()
  return server ?? { url: null, stop: async () => undefined }
}

async function execute<Row extends pg.QueryResultRow>(url: string, statement: string): Promise<pg.QueryResult<Row>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query<Row>(statement)
  } finally {
    await client.end()
  }
}
