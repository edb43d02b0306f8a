/**
 * Which compiled rules are attached to a subject: those of `isAttached`, but found once for all subjects of a tenant, a
 * pool, a type of tariff, a status and a tag class. Tags are of one class if they fit the same of the rules' tag patterns.
 */
import type { SimStatus } from '../../domain/codes.ts'
import { compilePattern, isAttached, type MatchProperties } from '../engine/match.ts'
import type { CompiledRule } from './compile-rule.ts'

/** The rules attached to a subject, in the set's order: one list for a class. Allocates only for a new class. */
export type Attach = (to: MatchProperties) => readonly CompiledRule[]

/** A test of a tag against a pattern. The branch of each answer is made at its first use. */
interface Fork {
  readonly fits: (tag: string) => boolean
  readonly make: (isFit: boolean) => Branch
  fitting: Branch | undefined
  other: Branch | undefined
}
type Branch = Fork | { readonly rules: readonly CompiledRule[] }

/** Branches by tenant, name of the pool, type of the tariff, and status. */
type Classes = Map<string, Map<string | null, Map<string | null, Map<SimStatus | null, Branch>>>>

/**
 * Most classes and branches in memory. Entries of renamed pools stay until then, and tenants choose their tags: neither
 * may make the memory grow without limit.
 */
const MOST_KEPT = 100_000

/** Makes the function for the rules of a set. @param mostKept with so much kept, it forgets everything and starts again */
export function attacher(rules: readonly CompiledRule[], mostKept: number = MOST_KEPT): Attach {
  const classes = { sim: new Map(), pool: new Map(), tenant: new Map(), tag: new Map() } satisfies Record<
    MatchProperties['subject'],
    Classes
  >
  /** By the names of the rules to choose from: most pools have the same. */
  const branches = new Map<string, Branch>()
  let kept = 0

  function forget(): void {
    for (const kind of Object.values(classes)) kind.clear()
    branches.clear()
    kept = 0
  }

  function addClass(to: MatchProperties): Branch {
    kept += 1
    const candidates = rules.filter((rule) => isCandidate(rule, to))
    const key = candidates.map(({ rule }) => rule.name).join(' ')
    const branch = branches.get(key) ?? branchOf(candidates, tagPatternsOf(candidates))
    branches.set(key, branch)
    const tenants: Classes = classes[to.subject]
    const pools =
      tenants.get(to.tenantId) ?? new Map<string | null, Map<string | null, Map<SimStatus | null, Branch>>>()
    const tariffs = pools.get(to.poolName) ?? new Map<string | null, Map<SimStatus | null, Branch>>()
    const statuses = tariffs.get(to.tariffType) ?? new Map<SimStatus | null, Branch>()
    tenants.set(to.tenantId, pools.set(to.poolName, tariffs.set(to.tariffType, statuses.set(to.status, branch))))
    return branch
  }

  function behind(fork: Fork, tag: string | null): Branch {
    const isFit = tag !== null && fork.fits(tag)
    const known = isFit ? fork.fitting : fork.other
    if (known !== undefined) return known
    kept += 1
    const made = fork.make(isFit)
    if (isFit) fork.fitting = made
    else fork.other = made
    return made
  }

  return (to) => {
    // There are few, each with its own rules.
    if (to.subject === 'tag') return rules.filter(({ rule }) => isAttached(rule, to))
    if (kept >= mostKept) forget()
    const tenants: Classes = classes[to.subject]
    let branch = tenants.get(to.tenantId)?.get(to.poolName)?.get(to.tariffType)?.get(to.status) ?? addClass(to)
    while ('fits' in branch) branch = behind(branch, to.tag)
    return branch.rules
  }
}

/** Whether a rule is attached to a subject if the tag fits. */
function isCandidate({ rule }: CompiledRule, to: MatchProperties): boolean {
  const { tag: _, ...match } = rule.match
  return isAttached({ ...rule, match }, to)
}

const tagPatternsOf = (rules: readonly CompiledRule[]): string[] => [
  ...new Set(rules.flatMap(({ rule }) => rule.match.tag ?? [])),
]

function branchOf(rules: readonly CompiledRule[], [pattern, ...others]: readonly string[]): Branch {
  if (pattern === undefined) return { rules }
  return {
    fits: compilePattern(pattern),
    make: (isFit) => branchOf(isFit ? rules : rules.filter(({ rule }) => rule.match.tag !== pattern), others),
    fitting: undefined,
    other: undefined,
  }
}
