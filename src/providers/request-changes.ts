// Applies the changes that a route configures for requests to one of its targets: headers and members of the
// body.
import type { RequestChanges } from '../core/call.ts'
import type { ProviderRequest } from '../dialects/dialect.ts'
import { omitMembers, spliceMembers } from '../json/splice.ts'

/**
 * Returns the changed request. Replaces headers of the same name; a member that is both omitted and set is
 * set.
 */
export function changed(request: ProviderRequest, { headers, set, omit }: RequestChanges): ProviderRequest {
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const kept = request.headers.filter((_, at) => !names.has(request.headers[at - (at % 2)]!.toLowerCase()))
  const shorter = omitMembers(
    request.body,
    omit.map((member) => [member]),
  )
  return {
    ...request,
    headers: [...kept, ...Object.entries(headers).flat()],
    body: Object.keys(set).length > 0 ? spliceMembers(shorter, set) : shorter,
  }
}
