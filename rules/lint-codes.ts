/**
 * The findings of the linter. A rule may mute a finding, with the reason: `"lint": {"no-clear": "why"}`. Imports
 * nothing.
 */
export const LINT_CODES = {
  impossible: 'its conditions can never be met together',
  always: 'a comparison that is always met',
  duplicate: 'another rule says the same',
  subsumed: 'whenever it fires, another rule fires too and does as much',
  'no-clear': 'told once an episode, over a value that falls, without conditions that clear it',
  flappy: 'its clear is within 5 % of what it fires at',
  'no-evidence': 'reads a forecast or a rate, and not how much of the cycle has elapsed',
  'feed-blind': 'reads how long a SIM is silent, and not whether the whole feed is',
  'absolute-time': 'compares with hours or minutes, though a billing cycle may last minutes',
  'mute-message': 'its message names no value that it was decided by',
  unguarded: 'suspends at level Info, or at once: with neither `for` nor grace',
} as const
export type LintCode = keyof typeof LINT_CODES
