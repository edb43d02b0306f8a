/** A line of a statement for a pool that cost nothing. */
export const STATEMENT_LINE = {
  kind: 'pool',
  adjusts: null,
  poolId: 7,
  poolName: 'Pumps',
  simId: null,
  iccid: null,
  tariffId: 1,
  bytes: 0,
  voiceSeconds: 0,
  smsCount: 0,
  limitBytes: 0,
  overageBytes: 0,
  feeMicro: 0,
  smsMicro: 0,
  voiceMicro: 0,
  overageMicro: 0,
} as const
