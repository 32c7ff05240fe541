// Reads a client's request in its dialect, and refuses values that must not reach a provider.
import type { ClientDialect, ReadRequest } from '../dialects/dialect.ts'
import type { JsonBody } from '../http/body.ts'
import type { Admitted } from '../http/endpoint.ts'
import type { CallContext } from './context.ts'

/** Reads a request. Throws if it is refused. */
export function readRequest(
  dialect: ClientDialect,
  { text, json }: JsonBody,
  { request: { headers }, path, rest, query }: Admitted,
  { keyGuard, tracing }: CallContext,
): ReadRequest {
  const read = dialect.parse({ text, json, headers, path, rest, query })
  const { forwarded } = read.request
  const { tracestate } = headers
  keyGuard.forwarded(tracing && tracestate ? [...forwarded, String(tracestate)] : forwarded, headers)
  return read
}
