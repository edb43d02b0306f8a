/** Input of month-end-timer, which a tenant's Schedule starts. */

export interface MonthEndTimerInput {
  readonly tenantId: string
  /** Given by the Schedule, because it is fixed when the tenant is created. */
  readonly billingCycle: string
  /** State that a continued run takes over. */
  readonly carried?: MonthEndTimerCarried
}

export interface MonthEndTimerCarried {
  /** Keys of the cycles whose month ends are still to run, in order. */
  readonly left: readonly string[]
  /** Whether the month end of the first of them has begun. It is not started again, should it have failed since. */
  readonly begun?: boolean
  /** The last 100 cycles whose month ends have run. */
  readonly cycles: readonly { readonly cycle: string; readonly status: string }[]
  readonly failed: readonly string[]
}
