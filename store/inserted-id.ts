/** The id of the row that an insert `returning id` has made. @throws Error if it has made none */
export function insertedId(rows: readonly { readonly id: number }[]): number {
  const [row] = rows
  if (row === undefined) throw new Error('an insert has returned no id')
  return row.id
}
