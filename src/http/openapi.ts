// Builds the OpenAPI 3.1 document from the endpoints themselves, so it describes the checks that really
// happen. Pure; depends on the type of an endpoint, but on no particular endpoint.
import { z } from 'zod'
import { errorSchema } from '../core/error-schema.ts'
import type { AnyReadEndpoint, CallEndpoint, OtherEndpoint } from './endpoint.ts'

interface Described {
  readonly version: string
  readonly reads: readonly AnyReadEndpoint<never>[]
  readonly calls: readonly CallEndpoint<never>[]
  readonly others?: readonly OtherEndpoint<never>[]
}

/** Descriptions of the headers of a live answer, by name. */
const LIVE_HEADERS = {
  'X-Gateway-Request-Id': 'id of the record',
  'X-Gateway-Provider': 'provider that served, or was tried last',
  'X-Gateway-Model': 'its model',
  'X-Gateway-Strategy': 'how it was picked',
  'X-Gateway-Attempts': 'requests sent to providers',
  'X-Gateway-Cache': 'HIT, MISS or BYPASS',
  'X-Gateway-Session-Id': 'session of the call; absent where there is none',
}

type Json = Record<string, unknown>

/** Describes a request whose answer is a provider's JSON. */
const relayed = (
  method: string,
  path: string,
  summary: string,
  named: (name: string, schema: z.ZodType) => Json,
  error: z.ZodType,
): Json => ({
  operationId: `${operationId(path)}_${method.toLowerCase()}`,
  summary,
  parameters: pathParameters(path),
  responses: {
    200: {
      description: "The provider's answer.",
      content: { 'application/json': { schema: { type: 'object' } } },
    },
    default: {
      description: "What went wrong, in the shape of the endpoint's dialect.",
      content: { 'application/json': { schema: named(`${operationId(path)}_error`, error) } },
    },
  },
})

/** A plain JSON object, served unchanged. */
export type OpenApi = Json & { readonly openapi: '3.1.0'; readonly info: Json & { readonly version: string } }

export function openApi({ version, reads, calls, others = [] }: Described): OpenApi {
  const registry = z.registry<{ id: string }>()
  const named = (name: string, schema: z.ZodType) => {
    if (!registry.has(schema)) registry.add(schema, { id: name })
    return { $ref: `#/components/schemas/${registry.get(schema)!.id}` }
  }
  named('Error', errorSchema)
  const paths: Record<string, Json> = {}
  for (const { path, summary, query, response, mediaType = 'application/json', open = false } of reads) {
    const name = operationId(path)
    paths[template(path)] = {
      get: {
        operationId: name,
        summary,
        parameters: [...pathParameters(path), ...queryParameters(query)],
        responses: {
          200: { description: 'OK', content: { [mediaType]: { schema: named(`${name}_answer`, response) } } },
          default: { $ref: '#/components/responses/Error' },
        },
        ...(open && { security: [] }),
      },
    }
  }
  for (const { method, path, summary, mediaType, query } of others)
    paths[template(path)] = {
      [method.toLowerCase()]: {
        operationId: operationId(path),
        summary,
        parameters: [...pathParameters(path), ...queryParameters(query)],
        responses: {
          200: { description: 'OK', content: { [mediaType]: {} } },
          default: { $ref: '#/components/responses/Error' },
        },
      },
    }
  for (const { path, methods, summary, errorSchema: error } of calls.filter(({ methods }) => methods))
    paths[template(path)] = Object.fromEntries(
      methods!.map((method) => [method.toLowerCase(), relayed(method, path, summary, named, error)]),
    )
  for (const { path, summary, request, errorSchema: error } of calls.filter(({ methods }) => !methods)) {
    const name = operationId(path)
    paths[template(path)] = {
      post: {
        operationId: name,
        summary,
        ...(path.includes('*') && { parameters: pathParameters(path) }),
        requestBody: {
          required: true,
          content: { 'application/json': { schema: named(`${name}_request`, request) } },
        },
        responses: {
          200: {
            description: "The provider's answer, its bytes as they came.",
            headers: routeHeaders(),
            content: { 'application/json': { schema: { type: 'object' } }, 'text/event-stream': {} },
          },
          default: {
            description: "What went wrong, in the shape of the endpoint's dialect.",
            content: { 'application/json': { schema: named(`${name}_error`, error) } },
          },
        },
      },
    }
  }
  return document(version, paths, schemasOf(registry))
}

/** Joins the parts of the document. */
const document = (version: string, paths: Record<string, Json>, schemas: Json): OpenApi => ({
  openapi: '3.1.0',
  info: { title: 'Waybill', version, summary: 'A local gateway for language models.' },
  security: [{ bearer: [] }, { key: [] }],
  paths,
  components: {
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer' },
      key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
    },
    responses: {
      Error: {
        description: 'What went wrong.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    },
    schemas,
  },
})

/** Replaces polka's `*` in a path by `{id}`. */
const template = (path: string): string => path.replace('*', '{id}')

const operationId = (path: string): string =>
  template(path)
    .replace(/[^a-z0-9]+/gi, '_')
    .replace(/^_|_$/g, '')

const pathParameters = (path: string): Json[] =>
  path.includes('*') ? [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }] : []

function queryParameters(query: z.ZodType): Json[] {
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: 'input', unrepresentable: 'any' })
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}

const routeHeaders = (): Json =>
  Object.fromEntries(
    Object.entries(LIVE_HEADERS).map(([name, description]) => [
      name,
      { description, schema: { type: 'string' } },
    ]),
  )

function schemasOf(registry: z.core.$ZodRegistry<{ id: string }>): Json {
  const { schemas } = z.toJSONSchema(registry, {
    uri: (id) => `#/components/schemas/${id}`,
    unrepresentable: 'any',
  })
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $id: _, $schema: __, ...schema }]) => [name, schema]),
  )
}
