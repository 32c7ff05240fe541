// GET /api/statusline: the status line of a session, for clients that start no runtime of their own. The same lookup
// and the same rendering as the program's, over the store instead of HTTP.
import { z } from 'zod'
import { timeOfId } from '../call.ts'
import type { ReadEndpoint } from '../http/endpoint.ts'
import { type Look, renderLine } from '../statusline/line.ts'
import { findFacts, type Source } from '../statusline/lookup.ts'
import { isClaude, withoutSuffix } from '../statusline/payload.ts'
import { AGE_PLACEHOLDER, DEFAULT_SEGMENTS, SEGMENT_NAMES, type View } from '../statusline/segments.ts'
import { THEME_NAMES } from '../statusline/themes.ts'
import { cells } from '../terminal/width.ts'
import type { ReadContext } from './context.ts'
import { ownKey } from './query.ts'

const query = z.strictObject({
  session_id: z.string().optional(),
  model: z.string().optional(),
  columns: z.coerce.number('expected a number').int().min(0).max(99_999).default(0),
  segments: z
    .string()
    .transform((names) => names.split(','))
    .pipe(z.array(z.enum(SEGMENT_NAMES, `expected a list of ${SEGMENT_NAMES.join(', ')}`)))
    .default([...DEFAULT_SEGMENTS]),
  theme: z.enum([...THEME_NAMES, 'none']).default('default'),
  /** For the sh variant, two lines more: the line as it is to be shown when it has aged; the seconds since the epoch
   * from which its age counts. */
  aged: z.enum(['0', '1']).default('0'),
})

const response = z.string()

export const statusline = {
  path: '/api/statusline',
  summary: 'the status line of a session as text; `?session_id=&model=&columns=`',
  mediaType: 'text/plain; charset=utf-8',
  query,
  response,
  async answer(
    { session_id, model = '', columns, segments, theme, aged },
    { caller, requestId },
    { calls, router },
  ) {
    const key_name = ownKey(caller)
    const payload = {
      sessionId: session_id || null,
      model: withoutSuffix(model) || null,
      modelAsGiven: model || null,
    }
    const source: Source = {
      newest: async (session_id, id) => {
        const filter = { session_id, purpose: 'main', requested_model: id ?? undefined, key_name } as const
        return (await calls.list(filter, { limit: 1 })).data[0] ?? null
      },
      resolve: (id) =>
        router.resolve(id) ?? (isClaude(id) ? router.resolve(id, undefined, 'messages') : null),
      session: (id) => calls.session(id, key_name),
    }
    const facts = await findFacts(payload, source, segments)
    const note = facts || !model ? null : 'the gateway does not know this model'
    const view: View = { label: model, facts, age: null, note, contextUsed: null, place: null }
    const look: Look = {
      segments,
      columns: columns || null,
      theme: theme === 'none' ? null : theme,
      link: null,
      cells,
    }
    const line = renderLine(view, look)
    if (aged === '0') return `${line}\n`
    const seconds = Math.floor(timeOfId(facts?.id ?? requestId) / 1000)
    return `${line}\n${renderLine({ ...view, age: AGE_PLACEHOLDER }, look)}\n${seconds}\n`
  },
} satisfies ReadEndpoint<ReadContext, typeof query, typeof response>
