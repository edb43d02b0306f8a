/** The operators that rules may use, under json-rules-engine's names, and their wording in documents and mails. */

export interface OperatorWords {
  /** `order`: two numbers. `equality`: two values of one type. `list`: a value and a list. `presence`: a boolean. */
  readonly takes: 'order' | 'equality' | 'list' | 'presence'
  /** Wording that completes "the fact … the value". */
  readonly meaning: string
  /** Wording after the fact's value in a mail: "usagePct is 93: above 90". */
  readonly inMail: string
}

export const OPERATORS = {
  equal: { takes: 'equality', meaning: 'is', inMail: 'equal to' },
  notEqual: { takes: 'equality', meaning: 'is known and is not', inMail: 'not equal to' },
  lessThan: { takes: 'order', meaning: 'is below', inMail: 'below' },
  lessThanInclusive: { takes: 'order', meaning: 'is at most', inMail: 'at most' },
  greaterThan: { takes: 'order', meaning: 'is above', inMail: 'above' },
  greaterThanInclusive: { takes: 'order', meaning: 'is at least', inMail: 'at least' },
  in: { takes: 'list', meaning: 'is one of', inMail: 'one of' },
  notIn: { takes: 'list', meaning: 'is known and is none of', inMail: 'none of' },
  known: { takes: 'presence', meaning: 'is known (true) or unknown (false)', inMail: 'known' },
} as const satisfies Readonly<Record<string, OperatorWords>>
export type OperatorName = keyof typeof OPERATORS

export const NEGATION = 'not:'

export const isOperator = (name: string): name is OperatorName => Object.hasOwn(OPERATORS, name)

/** All operator names that rules may use, including the negated ones. */
export const operatorNames = (): string[] => Object.keys(OPERATORS).flatMap((name) => [name, `${NEGATION}${name}`])
