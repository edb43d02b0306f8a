/** The fields of an object that have a value. For optional fields, which may be absent but not undefined. */
export function dropUndefined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> }
export function dropUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
