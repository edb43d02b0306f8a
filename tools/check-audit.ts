/**
 * `npm run audit`: asks the registry about the production dependencies. `npm audit` lists known faults; those of level high and
 * critical fail. `npm audit signatures` checks the published signatures.
 *
 * If the registry cannot be reached or is slow, the line says `skipped: ` and nothing fails. Not part of `npm run check`: the
 * result changes without a change of the code.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'

/** npm has waited for each request for 20 s by then, and asks nothing twice. Milliseconds. */
const PATIENCE_MS = 60_000
const PATIENCE = ['--fetch-retries=0', '--fetch-timeout=20000']

const QUESTIONS = ['audit --omit=dev --audit-level=high', 'audit signatures --omit=dev'] as const

/** The fields read of npm's output with `--json`. */
interface Answer {
  /** Of `npm audit`: by package. */
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string; readonly range: string }>>
  /** Of `npm audit signatures`; {@link missing} has those without a signature, where the registry signs. */
  readonly invalid?: readonly Installed[]
  readonly missing?: readonly Installed[]
  /** Instead of an answer. */
  readonly error?: { readonly summary?: string }
  readonly message?: string
}
interface Installed {
  readonly name: string
  readonly version: string
}

export type Verdict = { readonly findings: readonly string[] } | { readonly skipped: string }

/** What npm's answer comes to. @param text what it printed with `--json`; without JSON in it, npm did not get so far */
export function verdictOf(text: string): Verdict {
  const answer = answerIn(text)
  const { vulnerabilities, invalid, missing } = answer
  if (vulnerabilities !== undefined) {
    const grave = Object.entries(vulnerabilities).filter(([, { severity }]) => /^(high|critical)$/.test(severity))
    return { findings: grave.map(([name, { severity, range }]) => `${name} ${range}: ${severity}`) }
  }
  if (invalid !== undefined && missing !== undefined) {
    const named = (all: readonly Installed[], what: string) =>
      all.map(({ name, version }) => `${name}@${version}: ${what}`)
    return { findings: [...named(invalid, 'its signature does not fit'), ...named(missing, 'it is not signed')] }
  }
  const [reason = ''] = (answer.error?.summary || answer.message || 'the registry did not answer in time').split('\n')
  return { skipped: reason }
}

function answerIn(text: string): Answer {
  try {
    const answer: Answer = JSON.parse(text)
    return answer
  } catch {
    return {}
  }
}

async function ask(question: string): Promise<{ readonly question: string; readonly verdict: Verdict }> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const args = [...question.split(' '), '--json', ...PATIENCE]
  const options = { cwd: join(import.meta.dirname, '..'), shell: process.platform === 'win32', maxBuffer: 2 ** 26 }
  // Findings are an exit code too, so the code proves nothing.
  execFile('npm', args, { ...options, timeout: PATIENCE_MS }, (_error, stdout) => resolve(stdout))
  return { question, verdict: verdictOf(await promise) }
}

if (process.argv[1] === import.meta.filename) {
  for (const { question, verdict } of await Promise.all(QUESTIONS.map(ask))) {
    if ('skipped' in verdict) console.log(`skipped: npm ${question}: ${verdict.skipped}`)
    else if (verdict.findings.length === 0) console.log(`npm ${question}: nothing found`)
    else {
      process.exitCode = 1
      for (const finding of verdict.findings) console.log(`npm ${question}: ${finding}`)
    }
  }
}
