/** Input of month-end-timer, started by a tenant's Schedule. */

export interface MonthEndTimerInput {
  readonly tenantId: string
  /** Given by the Schedule, because it is fixed when the tenant is created. */
  readonly billingCycle: string
  /** State that a continued run takes over. */
  readonly carried?: MonthEndTimerCarried
}

export interface MonthEndTimerCarried {
  /** Keys of the cycles with month ends still to run, in order. */
  readonly left: readonly string[]
  /** Whether the month end of the first of them has begun. It is not started again, should it have failed since. */
  readonly begun?: boolean
  /** The last 100 cycles with completed month ends. */
  readonly cycles: readonly { readonly cycle: string; readonly status: string }[]
  readonly failed: readonly string[]
}
