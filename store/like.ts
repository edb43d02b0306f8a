/** The pattern of a rule, in which `*` stands for any characters, in the syntax of LIKE. */
export const likeOf = (pattern: string): string => pattern.replaceAll(/[\\%_]/g, '\\$&').replaceAll('*', '%')
