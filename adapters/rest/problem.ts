/** Reads the problem in a failed response. Source: RFC 9457; `code` and `errors` are the service's own. */
import { Type } from 'typebox'
import { Value } from 'typebox/value'

/** A text field of a problem; empty if it has none. */
export function textIn(problem: unknown, name: 'code' | 'title' | 'detail'): string {
  const value: unknown = typeof problem === 'object' && problem !== null ? Reflect.get(problem, name) : undefined
  return typeof value === 'string' ? value : ''
}

const Faults = Type.Object({
  errors: Type.Array(
    Type.Object({
      pointer: Type.Optional(Type.String()),
      parameter: Type.Optional(Type.String()),
      detail: Type.String(),
    }),
  ),
})

/** The wrong fields that a problem names, one line each. */
export const faultsOf = (problem: unknown): string[] =>
  Value.Check(Faults, problem)
    ? problem.errors.map(({ pointer, parameter, detail }) => `${pointer ?? parameter ?? ''}: ${detail}`)
    : []
