// Decides before an uninterpreted call is sent: which providers may get the other models that it names, and whether the
// key's budget allows it. The maximum cost must be known; otherwise a key with a budget may not make the call.
import type { CallContext } from '../call/context.ts'
import { withoutOtherModels } from '../call/find-route.ts'
import type { Route, Target } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { namedModels, othersThan } from '../core/other-models.ts'
import { PLAIN } from '../core/request-traits.ts'
import { estimateTokens } from '../core/token-estimate.ts'
import { plainNames, refuseRepeated } from '../json/plain-names.ts'
import type { Operation, PassthroughName } from './operations.ts'

/** Endpoint groups with a cost that depends only on the texts and the output limit. */
const PRICED_BY_TEXT: readonly PassthroughName[] = ['completions', 'moderations', 'rerank', 'decisions']
/** Inputs of a decision that are no text. */
const NO_TEXT = /"type"\s*:\s*"(?:input_)?(?:image|audio|video|document)"/

interface Asked {
  readonly callId: string
  readonly keyName: string | null
  readonly sessionId: string | null
  readonly operation: Operation
  readonly route: Route
  /** The body, if it is JSON and has arrived completely; null otherwise. */
  readonly whole: Buffer | null
}

/**
 * Returns the route that the call may use. Rejects with `price_unknown` or `budget_exceeded`, or with `invalid_request`
 * for other models than its providers may get.
 */
export async function reserve(
  { callId, keyName, sessionId, operation, route: given, whole }: Asked,
  { config, limits, replay }: Pick<CallContext, 'config' | 'limits' | 'replay'>,
): Promise<Route> {
  let route = given
  if (
    whole &&
    given.candidates.some(({ provider }) => config.providers[provider]?.other_models === 'refuse')
  ) {
    const asked = requestsIn(objectIn(whole)).flatMap(namedModels)
    route = withoutOtherModels(given, ({ model }) => othersThan(model, asked), { config })
  }
  const budgets = config.keys.find(({ name }) => name === keyName)?.budget ?? []
  if (budgets.length === 0 || replay || operation.spends === 'no') return route
  const isPriced =
    PRICED_BY_TEXT.includes(operation.group) && !(operation.group === 'decisions' && hasMore(whole))
  const body = isPriced && whole ? objectIn(whole) : null
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

/** Returns true for a body with pictures, sounds or documents, whose tokens nobody knows beforehand. */
const hasMore = (whole: Buffer | null): boolean => NO_TEXT.test(whole?.toString('utf8') ?? '')

/** Returns a body and the requests in it, as batches have them. */
function requestsIn(body: Record<string, unknown> | null): Record<string, unknown>[] {
  const items = Array.isArray(body?.requests) ? body.requests : []
  const inner = items.flatMap((item) => [item?.params, item?.body, item?.request])
  return [body, ...inner].filter((each) => typeof each === 'object' && each !== null)
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
