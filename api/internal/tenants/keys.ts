import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { strictObject, Text } from '../../../domain/schema.ts'
import { ApiKey, NewKey, RotateKey, WithSecret } from '../../../domain/tenants/tenant.ts'
import { createKey } from '../../../service/tenants/create-key.ts'
import { revokeKey } from '../../../service/tenants/revoke-key.ts'
import { rotateKey } from '../../../service/tenants/rotate-key.ts'
import { listKeys } from '../../../service/tenants/rows/keys.ts'
import { inPlatform } from '../../../store/tenancy.ts'
import { takeNoBody } from '../../http/app.ts'
import { onBehalfOf } from '../../http/change.ts'
import { idempotentInPlatform } from '../../http/idempotency.ts'
import { KeyParams } from '../../http/params.ts'
import type { InternalOptions } from '../../options.ts'

/** The owner of the keys: the named tenant, or null for the platform. */
const ownerOf = ({ tenantId }: { readonly tenantId: string }) => (tenantId === '' ? null : tenantId)

export const keyRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { store, keys }) => {
  const tags = ['Keys']
  const config = { tenant: 'or-platform' } as const
  /** Changes a key. This process reads it again before the caller has the response. */
  const forgetting = async <T>(id: string, change: () => Promise<T>): Promise<T> => {
    try {
      return await change()
    } finally {
      keys?.forget(id)
    }
  }

  app.post(
    '/keys',
    {
      config: { ...config, problems: ['secret_already_shown'] },
      schema: {
        operationId: 'createKey',
        summary: 'Make an API key of a tenant; an operator key, where X-Tenant-Id is @platform',
        tags,
        body: NewKey,
        response: { 201: WithSecret },
      },
    },
    (request, reply) =>
      idempotentInPlatform(store, { request, reply }, (tx) => createKey(tx, ownerOf(request), request.body), {
        status: 201,
        secret: true,
      }),
  )

  app.get(
    '/keys',
    {
      config,
      schema: {
        operationId: 'listKeys',
        summary: 'API keys, revoked ones too, without their secrets',
        tags,
        response: { 200: Type.Array(ApiKey) },
      },
    },
    (request) => inPlatform(store, (tx) => listKeys(tx, ownerOf(request))),
  )

  app.post(
    '/keys/:id/rotate',
    {
      config: { ...config, problems: ['key_not_found', 'key_not_active', 'secret_already_shown'] },
      schema: {
        operationId: 'rotateKey',
        summary: 'Put a new key in the place of another: the same name, scopes and expiry',
        description: 'The old key goes on working for `expireOldAfter`, but never longer than it would have.',
        tags,
        params: KeyParams,
        body: RotateKey,
        response: { 201: WithSecret },
      },
    },
    (request, reply) =>
      forgetting(request.params.id, () =>
        idempotentInPlatform(
          store,
          { request, reply },
          (tx) => rotateKey(tx, ownerOf(request), request.params.id, request.body),
          { status: 201, secret: true },
        ),
      ),
  )

  const withoutBody: FastifyPluginAsyncTypebox = async (scope) => {
    takeNoBody(scope)
    scope.delete(
      '/keys/:id',
      {
        config: { ...config, problems: ['key_not_found'] },
        schema: {
          operationId: 'revokeKey',
          summary: 'Revoke an API key, from now on',
          tags,
          params: KeyParams,
          response: { 200: strictObject({ id: Text('Id of the key', '6a34354728b4') }) },
        },
      },
      (request) =>
        forgetting(request.params.id, () =>
          inPlatform(onBehalfOf(store, request), (tx) => revokeKey(tx, ownerOf(request), request.params.id)),
        ),
    )
  }
  await app.register(withoutBody)
}
