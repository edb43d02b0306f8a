/** Input of month-end-plan: a dry run. */

export interface MonthEndPlanInput {
  readonly tenantId: string
  readonly cycleKey: string
}
