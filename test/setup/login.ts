/** A database of its own that belongs to a login role as an installation has it: no superuser, and migrated by itself. */
import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { migrate } from '../../store/migrate.ts'
import { administrate, dropDatabase } from './database.ts'

/**
 * @returns the url of the login role, that of the superuser, and what drops both
 */
export async function ownDatabase(): Promise<{ url: string; rootUrl: string; drop: () => Promise<void> }> {
  const name = `app_${randomBytes(8).toString('hex')}`
  await administrate(`create role ${name} login createrole password '${name}'`)
  await administrate(`grant simherd_tenant, simherd_platform to ${name} with admin true, inherit false`)
  await administrate(`create database ${name} owner ${name}`)
  const rootUrl = new URL(inject('postgresUrl'))
  rootUrl.pathname = `/${name}`
  const url = new URL(rootUrl)
  url.username = name
  url.password = name
  await migrate(url.href)
  await administrate(`alter role ${name} nocreaterole`)
  const drop = async () => {
    await dropDatabase(name)
    await administrate(`drop owned by ${name}`)
    await administrate(`drop role ${name}`)
  }
  return { url: url.href, rootUrl: rootUrl.href, drop }
}
