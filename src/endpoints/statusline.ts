// GET /api/statusline: the status line of a session, which the gateway renders for its clients.
import { z } from 'zod'
import { timeOfId } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { isClaude, withoutSuffix } from '../statusline/client-input.ts'
import { AGE_PLACEHOLDER, DEFAULT_SEGMENTS, SEGMENT_NAMES, THEME_NAMES } from '../statusline/flags.ts'
import { type LineStyle, renderLine, type View } from '../statusline/line.ts'
import { type Facts, factsOf, findFacts, type RouteSource } from '../statusline/lookup.ts'
import type { CallFilter } from '../store/reads.ts'
import { cells } from '../terminal/width.ts'
import type { ReadContext } from './context.ts'
import { ownKey } from './query.ts'

const query = z.strictObject({
  session_id: z.string().optional(),
  model: z.string().optional(),
  /** The model's or subagent's name as given by the client. */
  label: z.string().optional(),
  /** Id of a subagent. The line is about its newest call, or empty without one. */
  agent_id: z.string().min(1).optional(),
  /** Used share of the context window, percent. */
  context: z.coerce.number('expected a number').min(0).optional(),
  /** Directory and branch. */
  place: z.string().optional(),
  /** Address of this gateway as known to the client, for a link to the record. */
  link: z.url({ protocol: /^https?$/, error: 'expected an http(s) URL' }).optional(),
  columns: z.coerce.number('expected a number').int().min(0).max(99_999).default(0),
  segments: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum(SEGMENT_NAMES, `expected a list of ${SEGMENT_NAMES.join(', ')}`)))
    .default([...DEFAULT_SEGMENTS]),
  theme: z.enum([...THEME_NAMES, 'none']).default('default'),
  /**
   * Adds two lines: the replacement to show once this line is out of date, and the time at which it becomes out of
   * date, in seconds since the epoch.
   */
  aged: z.enum(['0', '1']).default('0'),
})

const response = z.string()

export const statusline = {
  path: '/api/statusline',
  summary: 'the status line of a session as text; `?session_id=&model=&columns=`',
  mediaType: 'text/plain; charset=utf-8',
  query,
  response,
  async answer(asked, { caller, requestId }, context) {
    const facts = await factsFor(asked, ownKey(caller), context)
    if (asked.agent_id !== undefined && !facts) return asked.aged === '0' ? '\n' : '\n\n0\n'
    const { model, label = model || null } = asked
    const note = facts || !model ? null : 'the gateway does not know this model'
    const { context: contextUsed = null, place = null } = asked
    const view: View = { label, facts, age: null, note, contextUsed, place }
    const look: LineStyle = {
      segments: asked.segments,
      columns: asked.columns || null,
      theme: asked.theme === 'none' ? null : asked.theme,
      link: asked.link && facts?.id ? recordAt(asked.link, facts.id) : null,
      cells,
    }
    const line = renderLine(view, look)
    if (asked.aged === '0') return `${line}\n`
    const seconds = Math.floor(timeOfId(facts?.id ?? requestId) / 1000)
    return `${line}\n${renderLine({ ...view, age: AGE_PLACEHOLDER }, look)}\n${seconds}\n`
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof response>

const recordAt = (gateway: string, id: string): string =>
  new URL(`/api/usage/request-logs/${encodeURIComponent(id)}`, gateway).href

/** Returns the known facts about the session or one of its subagents, limited to the caller's key. */
async function factsFor(
  { session_id, agent_id, label, model = '', segments }: z.output<typeof query>,
  key_name: string | undefined,
  { calls, router }: ReadContext,
): Promise<Facts | null> {
  const newest = async (filter: CallFilter) => (await calls.list(filter, { limit: 1 })).data[0] ?? null
  if (agent_id !== undefined) {
    const facts = session_id ? factsOf(await newest({ session_id, agent_id, key_name })) : null
    return facts && label ? { ...facts, requested_model: label } : facts
  }
  const source: RouteSource = {
    newest: (session_id, id) =>
      newest({ session_id, purpose: 'main', requested_model: id ?? undefined, key_name }),
    resolve(id) {
      try {
        return router.resolve(id) ?? (isClaude(id) ? router.resolve(id, undefined, 'messages') : null)
      } catch (error) {
        if (error instanceof GatewayError) return null // a call would be refused, so no forecast is possible
        throw error
      }
    },
    session: (id) => calls.session(id, key_name),
  }
  const subject = {
    sessionId: session_id || null,
    model: withoutSuffix(model) || null,
    modelAsGiven: model || null,
  }
  return findFacts(subject, source, segments)
}
