/** Logins as in an installation: one that owns and migrates its database, and one that owns nothing. */
import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { migrate } from '../../store/migrate/migrate.ts'
import { administrate, dropDatabase } from './database.ts'

const ROLES = ['simherd_tenant', 'simherd_platform', 'simherd_search']

/**
 * A database owned by a new login, which has migrated it.
 *
 * @param options.roles that the login may take on. Default: all of the service
 * @param options.ownsSchema whether the login has become the owner of the schema `public`. Default: true
 * @returns the login's url, the superuser's url, and `drop` for database and login
 */
export async function ownDatabase({
  roles = ROLES,
  ownsSchema = true,
}: {
  readonly roles?: readonly string[]
  readonly ownsSchema?: boolean
} = {}): Promise<{
  url: string
  rootUrl: string
  drop: () => Promise<void>
}> {
  const name = `app_${randomBytes(8).toString('hex')}`
  const rootUrl = new URL(inject('postgresUrl'))
  rootUrl.pathname = `/${name}`
  // As docs/runbook.md says.
  await administrate(`create role ${name} login noinherit createrole password '${name}'`)
  await administrate(`create database ${name} owner ${name}`)
  await administrate(`alter schema public owner to ${ownsSchema ? name : 'current_user'}`, rootUrl.href)
  // As it says for a second database on the same server.
  await administrate(`
    do $$ begin
      if current_setting('server_version_num')::integer >= 160000 then
        execute 'grant ${roles.join(', ')} to ${name} with admin true, inherit false';
      else
        grant ${roles.join(', ')} to ${name} with admin option;
      end if;
    end $$`)
  const url = new URL(rootUrl)
  url.username = name
  url.password = name
  const drop = async () => {
    await dropDatabase(name)
    await administrate(`drop owned by ${name}`)
    await administrate(`drop role ${name}`)
  }
  try {
    await migrate(url.href)
  } catch (error) {
    await drop()
    throw error
  }
  await administrate(`alter role ${name} nocreaterole`)
  return { url: url.href, rootUrl: rootUrl.href, drop }
}

/**
 * A login for the processes. It owns no table of the service, may take the service's two roles, and creates the queues'
 * schema.
 *
 * @param superuserUrl of a migrated database
 * @returns its url, and `drop`, to call before the database is dropped
 */
export async function loginOfProcesses(superuserUrl: string): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `works_${randomBytes(8).toString('hex')}`
  const url = new URL(superuserUrl)
  const database = url.pathname.slice(1)
  const run = async (statements: string) => void (await administrate(statements, superuserUrl))
  await run(`create role ${name} login noinherit password '${name}';
             grant simherd_tenant, simherd_platform to ${name};
             grant create on database ${database} to ${name}`)
  url.username = name
  url.password = name
  return { url: url.href, drop: () => run(`drop owned by ${name} cascade; drop role ${name}`) }
}
