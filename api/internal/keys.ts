import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { ServiceError } from '../../domain/errors.ts'
import { strictObject } from '../../domain/schema.ts'
import { ApiKey, NewKey, WithSecret } from '../../domain/tenant.ts'
import { createKey } from '../../operations/create-key.ts'
import { listKeys, revokeKey } from '../../store/keys.ts'
import { inPlatform } from '../../store/tenancy.ts'
import { takeNoBody } from '../app.ts'
import { onceInPlatform } from '../once.ts'
import { KeyParams } from '../params.ts'
import type { InternalOptions } from '../server.ts'

/** Whose keys: the named tenant's, without one the platform's own. */
const ownerOf = ({ tenantId }: { readonly tenantId: string }) => (tenantId === '' ? null : tenantId)

export const keyRoutes: FastifyPluginAsyncTypebox<InternalOptions> = async (app, { ground }) => {
  const tags = ['Keys']
  const config = { tenant: 'optional' } as const

  app.post(
    '/keys',
    {
      config,
      schema: {
        operationId: 'createKey',
        summary: 'Make an API key; without X-Tenant-Id an operator key',
        tags,
        body: NewKey,
        response: { 201: WithSecret },
      },
    },
    (request, reply) =>
      onceInPlatform(ground, { request, reply }, (tx) => createKey(tx, ownerOf(request), request.body), {
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
    (request) => inPlatform(ground, (tx) => listKeys(tx, ownerOf(request))),
  )

  const withoutBody: FastifyPluginAsyncTypebox = async (scope) => {
    takeNoBody(scope)
    scope.delete(
      '/keys/:id',
      {
        config,
        schema: {
          operationId: 'revokeKey',
          summary: 'Revoke an API key, from now on',
          tags,
          params: KeyParams,
          response: { 200: strictObject({ id: Type.String() }) },
        },
      },
      (request) =>
        inPlatform(ground, async (tx) => {
          const { id } = request.params
          if (await revokeKey(tx, ownerOf(request), id)) return { id }
          throw new ServiceError('key_not_found', `There is no API key ${id}.`)
        }),
    )
  }
  await app.register(withoutBody)
}
