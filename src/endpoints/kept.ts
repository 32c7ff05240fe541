// Kept calls. GET /api/usage/request-logs/{id}/kept returns the bodies of one call and what they say; DELETE
// /api/kept/{session} deletes those of a session. A call of another key is not found.
import { z } from 'zod'
import { PART_KINDS, partsOfKept } from '../call/kept-parts.ts'
import { GatewayError } from '../core/errors.ts'
import { TOKEN_PREFIX } from '../http/caller.ts'
import type { OtherEndpoint, ReadEndpoint } from '../http/endpoint.ts'
import { replyJson } from '../http/reply.ts'
import { MEMORY } from '../shared/memory.ts'
import { resultInTurn } from '../shared/turns.ts'
import type { ReadContext } from './context.ts'
import { noQuery, ownKey } from './query.ts'
import { time } from './schemas.ts'

const part = z.strictObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  kind: z.enum(PART_KINDS),
  name: z.string().nullable().describe('name of the tool that is called, or of the document'),
  text: z.string(),
})

const keptResponse = z.strictObject({
  id: z.uuid(),
  path: z.string(),
  query: z.string(),
  headers: z
    .record(z.string(), z.string())
    .describe('the headers that were relayed to the provider and hold no secret'),
  request: z.string().describe('the body as the client sent it'),
  status: z.int(),
  content_type: z.string().nullable(),
  answer: z.string().describe('the body as the client got it, streamed or whole'),
  input: z.array(part).describe('what the request holds'),
  output: z.array(part).describe('what the answer says'),
  expires_at: time,
})

export const keptCall = {
  path: '/api/usage/request-logs/*/kept',
  summary: 'the request and the answer of one call, if they are kept',
  query: noQuery,
  response: keptResponse,
  async answer(_query, { rest, caller }, { calls, kept }) {
    const id = rest.replace(/\/kept$/, '')
    const call = kept && (await calls.find(id, ownKey(caller)))
    const share = MEMORY.open(caller.name, 'demand')
    const take = (bytes: number) => {
      if (!share.take(bytes))
        throw new GatewayError('overloaded', 'Too much at once. Try again.', { retryAfter: 1 })
    }
    try {
      const found = call && (await kept.find(id, call.key_name, take))
      if (!found)
        throw new GatewayError(
          'not_found',
          'Nothing of this call is kept (any more), or it is not yours. Calls are kept where it is asked for, such as by `waybill run --keep`.',
        )
      const { expiresAt, ...bodies } = found
      const size = bodies.request.length + bodies.answer.length
      const parts = await resultInTurn(caller.name, size, () => partsOfKept(call.endpoint, bodies))
      return { id, ...bodies, ...parts, expires_at: new Date(expiresAt).toISOString() }
    } finally {
      share.release()
    }
  },
} satisfies ReadEndpoint<ReadContext, typeof noQuery, typeof keptResponse>

/** Calls that are read in one step. */
const PAGE = 200
/** Newest calls of a session that are looked up. */
const MOST = 1_000

const sessionQuery = z.strictObject({ session_id: z.string().min(1) })
const keptOfSession = z.strictObject({
  kept: z.array(z.uuid()).describe('calls whose bodies are kept, newest first'),
  branches: z
    .array(z.strictObject({ session_id: z.string(), parent_id: z.uuid() }))
    .describe('sessions that branch off from calls of this one, newest first'),
})

export const keptCalls = {
  path: '/api/kept',
  summary: 'the calls of a session that are kept, and the sessions that branch off from it; `?session_id=`',
  query: sessionQuery,
  response: keptOfSession,
  async answer({ session_id }, { caller }, { calls, kept }) {
    const key_name = ownKey(caller)
    const ids = new Set<string>()
    const found: string[] = []
    let cursor: string | undefined
    do {
      const page = await calls.list({ session_id, key_name }, { limit: PAGE, cursor })
      for (const { id, key_name } of page.data) {
        ids.add(id)
        if (await kept?.has(id, key_name)) found.push(id)
      }
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined && ids.size < MOST)
    const { data } = await calls.list({ parent_id: 'some', key_name }, { limit: PAGE })
    const branches = data.flatMap(({ session_id, parent_id }) =>
      session_id !== null && parent_id !== null && ids.has(parent_id) ? [{ session_id, parent_id }] : [],
    )
    return { kept: found, branches: [...new Map(branches.map((each) => [each.session_id, each])).values()] }
  },
} satisfies ReadEndpoint<ReadContext, typeof sessionQuery, typeof keptOfSession>

export const forgetKept: OtherEndpoint<ReadContext> = {
  method: 'DELETE',
  path: '/api/kept/*',
  summary: 'deletes what is kept of the calls of a session; their records stay',
  mediaType: 'application/json',
  query: noQuery,
  async handle({ rest, caller, request }, response, { calls, kept }) {
    if (request.headers.authorization?.includes(TOKEN_PREFIX))
      throw new GatewayError('forbidden', 'A page token only reads. Use a gateway key.')
    const filter = { session_id: rest, key_name: ownKey(caller) }
    let deleted = 0
    let cursor: string | undefined
    do {
      const page = await calls.list(filter, { limit: PAGE, cursor })
      for (const { id, key_name } of page.data) if (await kept?.remove(id, key_name)) deleted++
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
    replyJson(response, 200, JSON.stringify({ deleted }))
  },
}
