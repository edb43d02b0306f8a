/** Subjects of rules: a SIM, a pool, the tenant, or the SIMs whose tags fit a pattern together. */
import { ServiceError } from '../errors.ts'

export const SUBJECT_KINDS = ['sim', 'pool', 'tenant', 'tag'] as const
export type SubjectKind = (typeof SUBJECT_KINDS)[number]

export interface Subject {
  readonly kind: SubjectKind
  /** Id of the SIM, the pool, or the pattern of tags; 0 for the tenant. */
  readonly id: number
}

/** Ids of subjects, by kind. */
export interface SubjectIds {
  readonly simId?: number | null | undefined
  readonly poolId?: number | null | undefined
  readonly tagId?: number | null | undefined
}

/**
 * Checks that a request names one subject at most, or an entry of the log in its place.
 *
 * @throws ServiceError `invalid_request`
 */
export function checkOneNamed(ids: SubjectIds & { readonly entryId?: number | undefined }): void {
  const given = Object.entries(ids).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  if (given.length < 2) return
  const got = given.join(' and ')
  throw new ServiceError('invalid_request', `got ${got}, expected one of them, or none for the tenant`)
}

/** The subject of a refused request: without an id it is the tenant, perhaps by mistake. */
export const namedWords = ({ kind, id }: Subject): string =>
  kind === 'tenant' ? 'the tenant as a whole (no SIM, pool or tag is named)' : `${kind} ${id}`

/** The SIM, pool or tag of an id; without any, the tenant. */
export function subjectNamed({ simId, poolId, tagId }: SubjectIds): Subject {
  if (simId != null) return { kind: 'sim', id: simId }
  if (poolId != null) return { kind: 'pool', id: poolId }
  return tagId == null ? { kind: 'tenant', id: 0 } : { kind: 'tag', id: tagId }
}

/** The reverse: the id that a request names a subject by; none for the tenant. */
export function idsOf({ kind, id }: Subject): SubjectName {
  return kind === 'tenant' ? {} : { [ID_OF[kind]]: id }
}
interface SubjectName {
  readonly simId?: number
  readonly poolId?: number
  readonly tagId?: number
}
const ID_OF = { sim: 'simId', pool: 'poolId', tag: 'tagId' } as const

/** The number that columns have for each kind (`subject_kind`). */
export const SUBJECT_CODES = { sim: 1, pool: 2, tenant: 3, tag: 4 } as const satisfies Record<SubjectKind, number>
export type SubjectCode = (typeof SUBJECT_CODES)[SubjectKind]

const KINDS: Readonly<Record<SubjectCode, SubjectKind>> = { 1: 'sim', 2: 'pool', 3: 'tenant', 4: 'tag' }

/** A row's subject with its kind as columns have it. */
export const toCoded = <S extends { readonly kind: SubjectKind }>(row: S) => ({ ...row, kind: SUBJECT_CODES[row.kind] })
/** The reverse. */
export const fromCoded = <S extends { readonly kind: SubjectCode }>(row: S) => ({ ...row, kind: KINDS[row.kind] })
