/** Input of month-end-timer, which a tenant's Schedule starts. */

export interface MonthEndTimerInput {
  readonly tenantId: string
  /** Comes with the Schedule: it is fixed when the tenant is created. */
  readonly billingCycle: string
  /** What a continued run takes over. */
  readonly carried?: MonthEndTimerCarried
}

export interface MonthEndTimerCarried {
  /** Keys of cycles whose month ends are still to be run, in their order. */
  readonly left: readonly string[]
  /** Those that have been run: the last 100. */
  readonly cycles: readonly { readonly cycle: string; readonly status: string }[]
  readonly failed: readonly string[]
}
