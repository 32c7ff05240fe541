// Applies a key's budget to an uninterpreted call. The maximum cost of the call must be known; otherwise the
// key may not make it.
import type { CallContext } from '../call/context.ts'
import type { Route, Target } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { namedModels, othersThan } from '../core/other-models.ts'
import { PLAIN } from '../core/request-traits.ts'
import { estimateTokens } from '../core/token-estimate.ts'
import { refuseRepeated } from '../json/decisive-members.ts'
import { plainNames } from '../json/plain-names.ts'
import type { Operation, PassthroughName } from './operations.ts'

/** Endpoint groups with a cost that depends only on the texts and the output limit. */
const PRICED_BY_TEXT: readonly PassthroughName[] = ['completions', 'moderations', 'rerank']

interface Asked {
  readonly callId: string
  readonly keyName: string | null
  readonly sessionId: string | null
  readonly operation: Operation
  readonly route: Route
  /** The body, if it is JSON and has arrived completely; null otherwise. */
  readonly whole: Buffer | null
}

/** Returns the route that the key may use. Rejects with `price_unknown` or `budget_exceeded`. */
export async function reserve(
  { callId, keyName, sessionId, operation, route, whole }: Asked,
  { config, limits, replay }: Pick<CallContext, 'config' | 'limits' | 'replay'>,
): Promise<Route> {
  const budgets = config.keys.find(({ name }) => name === keyName)?.budget ?? []
  if (budgets.length === 0 || replay || operation.spends === 'no') return route
  const body = PRICED_BY_TEXT.includes(operation.group) && whole ? objectIn(whole) : null
  if (!body && budgets.some(({ unpriced }) => unpriced === 'refuse'))
    throw new GatewayError(
      'price_unknown',
      `The key "${keyName}" has a budget, and nobody knows beforehand what a call to ${operation.path} can cost; the operator can set budget.unpriced: allow for this key.`,
    )
  const text = estimateTokens(whole?.toString('utf8') ?? '')
  const traits = { ...PLAIN, inputTokens: Math.max(text, numbersIn(body?.prompt)) }
  const named = namedModels(body ?? {})
  const others = ({ model }: Target) => othersThan(model, named)
  return limits.reserve({ callId, keyName, sessionId, route, traits, body: body ?? {}, others })
}

/** Returns how many tokens a prompt has that is written in tokens; 0 for a text. */
const numbersIn = (prompt: unknown): number =>
  Array.isArray(prompt) ? prompt.flat().filter((each) => typeof each === 'number').length : 0

/**
 * Returns the body as an object; null if it is invalid. The provider then reports the error. Throws for a repeated
 * member that decides about the cost.
 */
function objectIn(bytes: Buffer): Record<string, unknown> | null {
  let text: string
  let json: Record<string, unknown>
  try {
    text = bytes.toString('utf8')
    JSON.parse(text) // throws if invalid
    text = plainNames(text)
    json = JSON.parse(text) as Record<string, unknown>
  } catch {
    return null
  }
  refuseRepeated(text, json)
  return json
}
