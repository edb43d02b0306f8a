/** Subjects of rules: a SIM, a pool or a tenant. */

export const SUBJECT_KINDS = ['sim', 'pool', 'tenant'] as const
export type SubjectKind = (typeof SUBJECT_KINDS)[number]

export interface Subject {
  readonly kind: SubjectKind
  /** SIM or pool id; 0 for the tenant. */
  readonly id: number
}

/** The SIM or pool of an id; without any, the tenant. */
export function subjectNamed(simId?: number | null, poolId?: number | null): Subject {
  if (simId != null) return { kind: 'sim', id: simId }
  return poolId == null ? { kind: 'tenant', id: 0 } : { kind: 'pool', id: poolId }
}

/** The number that columns have for each kind (`subject_kind`). */
export const SUBJECT_CODES = { sim: 1, pool: 2, tenant: 3 } as const satisfies Record<SubjectKind, number>
export type SubjectCode = (typeof SUBJECT_CODES)[SubjectKind]

const KINDS: Readonly<Record<SubjectCode, SubjectKind>> = { 1: 'sim', 2: 'pool', 3: 'tenant' }

/** A row's subject with its kind as columns have it. */
export const toCoded = <S extends { readonly kind: SubjectKind }>(row: S) => ({ ...row, kind: SUBJECT_CODES[row.kind] })
/** The reverse. */
export const fromCoded = <S extends { readonly kind: SubjectCode }>(row: S) => ({ ...row, kind: KINDS[row.kind] })
