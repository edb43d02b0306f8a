import { Type } from 'typebox'
import { strictObject, Text } from '../../../domain/schema.ts'
import { SignInLink } from '../../../domain/tenants/session.ts'
import { ApiKey, NewKey, RotateKey, WithSecret } from '../../../domain/tenants/tenant.ts'
import { createKey } from '../../../service/tenants/create-key.ts'
import { makeSignInLink } from '../../../service/tenants/open-session.ts'
import { revokeKey } from '../../../service/tenants/revoke-key.ts'
import { rotateKey } from '../../../service/tenants/rotate-key.ts'
import { listKeys } from '../../../service/tenants/rows/keys.ts'
import { takeNoBody } from '../../http/app.ts'
import { internalRoutes } from '../../http/declare-routes.ts'
import { KeyParams } from '../../http/params.ts'
import type { InternalOptions } from '../../options.ts'

/** The owner of the keys: the named tenant, or null for the platform. */
export const ownerOf = ({ tenantId }: { readonly tenantId: string }) => (tenantId === '' ? null : tenantId)

/** Makes this process read a changed key again before the caller has the response. */
const forgetKey = ({ params }: { readonly params: { readonly id: string } }, { keys }: InternalOptions) =>
  keys?.forget(params.id)

const route = internalRoutes('Keys', { tenant: 'or-platform' })

export const keyRoutes = [
  route('POST', '/keys', {
    operationId: 'createKey',
    summary: 'Create an API key of a tenant, or with X-Tenant-Id @platform an operator key',
    problems: ['secret_already_shown'],
    body: NewKey,
    response: { 201: WithSecret },
    secret: true,
    changePlatform: (tx, request) => createKey(tx, ownerOf(request), request.body),
  }),
  route('GET', '/keys', {
    operationId: 'listKeys',
    summary: 'API keys, including revoked ones, without their secrets',
    response: { 200: Type.Array(ApiKey) },
    readPlatform: (tx, request) => listKeys(tx, ownerOf(request)),
  }),
  route('POST', '/keys/:id/rotate', {
    operationId: 'rotateKey',
    summary: 'Replace a key by a new one with the same name, scopes and expiry',
    description: 'The old key works for `expireOldAfter`, but not beyond its own expiry.',
    problems: ['key_not_found', 'key_not_active', 'secret_already_shown'],
    params: KeyParams,
    body: RotateKey,
    response: { 201: WithSecret },
    secret: true,
    changePlatform: (tx, request) => rotateKey(tx, ownerOf(request), request.params.id, request.body),
    after: forgetKey,
  }),
  route('DELETE', '/keys/:id', {
    operationId: 'revokeKey',
    summary: 'Revoke an API key at once',
    problems: ['key_not_found'],
    bodies: takeNoBody,
    params: KeyParams,
    response: { 200: strictObject({ id: Text('Id of the key', '6a34354728b4') }) },
    changePlatform: (tx, request) => revokeKey(tx, ownerOf(request), request.params.id),
    after: forgetKey,
  }),
  route('POST', '/sign-in-links', {
    operationId: 'createSignInLink',
    summary: 'Make a link to the console that signs in once, with the rights of the calling key',
    description: 'It works for 15 minutes. The session that it opens ends with the key.',
    problems: ['secret_already_shown'],
    tenant: 'none',
    response: { 201: SignInLink },
    secret: true,
    changePlatform: (tx, { keyId, keyTenantId }) => makeSignInLink(tx, { id: keyId, tenantId: keyTenantId }),
  }),
]
