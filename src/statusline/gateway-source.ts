// Asks a gateway. Knows three read endpoints and no other, so it cannot cause an inference (LINE-04).
import type { Socket } from 'node:net'
import { isObject } from './facts.ts'
import { dial, getJson, NoAnswer } from './get-json.ts'
import type { Source } from './lookup.ts'
import { isClaude } from './payload.ts'

/**
 * A source with one deadline for all that is asked of it: `ms` from its first question, for which a connection is made
 * at once. Its functions reject with NoAnswer. `agentId` asks for the calls of one subagent instead of those of the main conversation.
 */
export function gatewaySource(url: URL, key: string | null, ms: number, agentId?: string): Source {
  const whose: Record<string, string> = agentId === undefined ? { purpose: 'main' } : { agent_id: agentId }
  let deadline = 0
  let connection: Socket | null = dial(url)
  const get = async (path: string, query: Record<string, string> = {}) => {
    deadline ||= Date.now() + ms
    const target = `${url.pathname.replace(/\/+$/, '')}${path}?${new URLSearchParams(query)}`
    const left = deadline - Date.now()
    if (left <= 0) throw new NoAnswer('did not answer in time')
    const socket = connection ?? dial(url)
    connection = null
    return getJson(socket, url.host, target, key, left)
  }
  return {
    async newest(sessionId, model) {
      const query = { session_id: sessionId, ...whose, limit: '1' }
      const asked = model === null ? query : { ...query, requested_model: model }
      const { status, json } = await get('/api/usage/request-logs', asked)
      if (status !== 200) throw new NoAnswer(`answered ${status}`)
      if (!isObject(json) || !Array.isArray(json.data)) throw new NoAnswer('sent an invalid answer')
      return json.data[0] ?? null
    },
    async resolve(model) {
      const path = '/api/cloud/model/resolve'
      // At the same time, because the deadline is short.
      const [named, byDefault] = await Promise.all([
        get(path, { model }),
        isClaude(model) ? get(path, { model, dialect: 'messages' }).catch(() => null) : null,
      ])
      const { status, json } = named.status === 404 && byDefault ? byDefault : named
      if (status !== 200)
        throw new NoAnswer(status === 404 ? 'does not know this model' : `answered ${status}`)
      return json
    },
    async session(sessionId) {
      const { status, json } = await get(`/api/sessions/${encodeURIComponent(sessionId)}`)
      return status === 200 ? json : null
    },
  }
}
