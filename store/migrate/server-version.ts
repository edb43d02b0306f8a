/** The PostgreSQL servers that Simherd works with. */
import { UnfitDatabase } from './unfit-database.ts'

/** The oldest major version: `test/store`, `test/service/usage` and the quick start run on it too. */
const OLDEST_POSTGRES = 15

/**
 * @param number as `server_version_num` gives it: 150018
 * @throws UnfitDatabase that names the version, if it is too old
 */
export function refuseOldServer(number: number): void {
  const [major, minor] = [Math.floor(number / 10_000), number % 10_000]
  if (major < OLDEST_POSTGRES) {
    throw new UnfitDatabase(
      `PostgreSQL is ${major}.${minor}, and Simherd needs ${OLDEST_POSTGRES} or newer: upgrade the server`,
    )
  }
}
