// The name of the output limit in a relayed chat request, if facts know that its model refuses the other name.
import { memberText, omitMembers, renameMember } from '../../json/splice.ts'
import type { UpstreamDialect } from '../dialect.ts'

const LIMIT = /max_(completion_)?tokens/
const NAMES = ['max_tokens', 'max_completion_tokens'] as const

/**
 * Returns the request with its output limit under the name that the model accepts. If it has both names, both
 * limits hold: the lower one is sent. Null if there is nothing to rename, such as a limit that is not a number.
 */
export const withKnownLimit: NonNullable<UpstreamDialect['renamed']> = (body, model, factsOf) => {
  if (!LIMIT.test(body)) return null
  const { chat_limit: to } = factsOf(model, 'chat')
  if (to === undefined) return null
  const from = NAMES.find((name) => name !== to)!
  const [limit, other] = [from, to].map((name) => JSON.parse(memberText(body, name) ?? 'null'))
  if (typeof limit !== 'number' || (typeof other !== 'number' && other !== null)) return null
  const text =
    other === null || limit < other
      ? renameMember(omitMembers(body, [[to]]), from, to)
      : omitMembers(body, [[from]])
  return { from, to, body: text }
}
