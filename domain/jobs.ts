/**
 * Wake-ups for the workers. The work itself stands in PostgreSQL (tickets, due marks, notifications,
 * workflow outbox); a bell only says where to look now, and a lost one costs the time to the next sweep.
 */
export type Bell =
  | { readonly queue: 'tickets'; readonly tenantId: string; readonly simId: number }
  | { readonly queue: 'bulk'; readonly tenantId: string }
  | { readonly queue: 'evaluate'; readonly tenantId: string }
  | { readonly queue: 'mail'; readonly tenantId: string }
  | { readonly queue: 'workflows'; readonly tenantId: string }
