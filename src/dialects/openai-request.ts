// Makes the provider's requests for OpenAI dialects, which differ only in the end of their path.
import { spliceMembers } from '../json/splice.ts'
import type { Dialect, UpstreamDialect } from './dialect.ts'

/** Keeps every byte of the client's body except its model. */
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
