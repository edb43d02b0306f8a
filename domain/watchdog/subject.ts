/** Subjects: what rules are evaluated for. */

export const SUBJECT_KINDS = ['sim', 'pool', 'tenant'] as const
export type SubjectKind = (typeof SUBJECT_KINDS)[number]

/** Number of each kind in the database (`subject_kind`). */
export const SUBJECT_CODES = { sim: 1, pool: 2, tenant: 3 } as const satisfies Record<SubjectKind, number>
export type SubjectCode = (typeof SUBJECT_CODES)[SubjectKind]
