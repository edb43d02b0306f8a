/** Lint rules of our own, for what oxlint has no rule for. Loaded by oxlint.config.ts. */

interface Node {
  readonly callee: { readonly type: string; readonly name?: string }
  readonly arguments: readonly unknown[]
}
interface Context {
  report(found: { readonly node: Node; readonly message: string }): void
}

/** `new Date()` reads the clock as `Date.now()` does; with an argument it is arithmetic. */
const noNewDateNow = {
  create: (context: Context) => ({
    NewExpression(node: Node) {
      if (node.callee.type !== 'Identifier' || node.callee.name !== 'Date' || node.arguments.length > 0) return
      context.report({ node, message: 'No clock here: time is a parameter, so that tests and retries give the same.' })
    },
  }),
}

export default { meta: { name: 'house' }, rules: { 'no-new-date-now': noNewDateNow } }
