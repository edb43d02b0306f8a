import { pageOf } from '../../../domain/page.ts'
import { Count, strictObject } from '../../../domain/schema.ts'
import { SessionEntry, SessionId, SessionQuery } from '../../../domain/tenants/session.ts'
import { endSessionById, endSessionsOf } from '../../../service/tenants/end-session.ts'
import { pageOfSessions } from '../../../service/tenants/rows/sessions.ts'
import { takeNoBody } from '../../http/app.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { KeyParams, SessionParams } from '../../http/params.ts'
import { ownerOf } from './keys.ts'

const route = internalRoutes('Keys', { tenant: 'or-platform' })

/** Sessions of the console. */
export const sessionRoutes = [
  route('GET', '/sessions', {
    operationId: 'listSessions',
    summary: 'Who is signed in to the console, the last used first',
    description:
      'By a key of the tenant, or by mail as one of its contacts. With X-Tenant-Id @platform: by operator keys.',
    query: SessionQuery,
    response: { 200: pageOf(SessionEntry) },
    readPlatform: (tx, request) => pageOfSessions(tx, ownerOf(request), request.query, request.askingSessionId),
  }),
  route('DELETE', '/sessions/:id', {
    operationId: 'endSession',
    summary: 'Sign out one browser at once',
    description: 'Its key, or its contact, may sign in again.',
    problems: ['session_not_found'],
    bodies: takeNoBody,
    params: SessionParams,
    response: { 200: strictObject({ id: SessionId }) },
    changePlatform: (tx, request) => endSessionById(tx, ownerOf(request), request.params.id),
  }),
  route('DELETE', '/keys/:id/sessions', {
    operationId: 'endSessionsOfKey',
    summary: 'Sign out every browser that a key, or its contact, has signed in',
    description: 'Links of the key that were not used end too. The key goes on, and its contact may sign in again.',
    problems: ['key_not_found'],
    bodies: takeNoBody,
    params: KeyParams,
    response: { 200: strictObject({ ended: Count('Sessions that have ended') }) },
    changePlatform: (tx, request) => endSessionsOf(tx, ownerOf(request), request.params.id),
  }),
]
