/** A Markdown table. */
export function markdown(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`
  return [head, head.map(() => '---'), ...rows].map(line).join('\n')
}
