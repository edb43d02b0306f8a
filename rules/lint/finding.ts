/** Findings of the linter on rules that the gate accepts. */
import { placeInFile } from '../ladder.ts'
import type { LintCode } from '../lint-codes.ts'
import type { Rule } from '../rule.ts'

export interface Finding {
  readonly rule: string
  readonly file: string
  /** JSON pointer into the rule's file. */
  readonly pointer: string
  readonly code: LintCode
  /** The finding in words. */
  readonly says: string
}

/** A finding of one check, without the rule. */
export type Remark = Pick<Finding, 'pointer' | 'code' | 'says'>

export const findingOf = (rule: Rule, remark: Remark): Finding => ({
  rule: rule.name,
  file: rule.file,
  ...remark,
  pointer: placeInFile(rule, remark.pointer),
})
