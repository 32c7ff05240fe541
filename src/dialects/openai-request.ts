// Provider requests for OpenAI's dialects. They end in different paths and share the members that may be
// omitted.
import { spliceMembers } from '../json/splice.ts'
import type { Dialect, UpstreamDialect } from './dialect.ts'
import type { OptionalMember } from './optional-members.ts'

/** Builds a request. Keeps every byte of the client's body except the model. */
export const requestTo =
  (path: string): UpstreamDialect['request'] =>
  ({ text, stream, forwarded }, model, { basePath, key }) => {
    const headers = ['content-type', 'application/json']
    headers.push('accept', stream ? 'text/event-stream' : 'application/json')
    headers.push('accept-encoding', 'identity', 'user-agent', 'waybill', ...forwarded)
    if (key !== null) headers.push('authorization', `Bearer ${key}`)
    return {
      path: `${basePath}${path}`,
      headers,
      body: spliceMembers(text, { model: JSON.stringify(model) }),
    }
  }

export const modelList: Dialect['modelList'] = (key) => ({
  path: '/models',
  headers: { authorization: `Bearer ${key}` },
})

/** Members of chat and Responses requests that may be omitted. */
export const openAiOptional: readonly OptionalMember[] = [
  { path: ['temperature'], loss: 'sampling.temperature' },
  { path: ['top_p'], loss: 'sampling.temperature' },
  { path: ['top_logprobs'], loss: 'logprobs' },
  { path: ['user'], loss: 'safety_identifier' },
  { path: ['safety_identifier'], loss: 'safety_identifier' },
  { path: ['metadata'], loss: 'metadata' },
  { path: ['service_tier'], loss: 'service_tier' },
  { path: ['prompt_cache_key'], loss: 'prompt_cache' },
  { path: ['prompt_cache_retention'], loss: 'prompt_cache' },
]
