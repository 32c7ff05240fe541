// Messages on the provider side: Anthropic and other providers of the same API. Format: Anthropic API
// reference, "Messages", "Streaming", "Versions".
import { EMPTY_EVENT } from '../../core/call.ts'
import { Losses } from '../../core/losses.ts'
import { memberText, omitMembers, type Replacement, spliceMembers } from '../../json/splice.ts'
import { parseExact } from '../../shared/exact-json.ts'
import {
  budgetOfEffort,
  type ClientRequest,
  effortOfBudget,
  mayHoldCarriers,
  nearestEffort,
} from '../blocks.ts'
import type { Dialect, ProviderAccess, ProviderRequest, StreamReader, UpstreamDialect } from '../dialect.ts'
import { withoutForeignReasoning } from '../foreign-reasoning.ts'
import { isObject, type Json, member, tokenCount } from '../json.ts'
import { errorIn as openAiErrorIn } from '../openai.ts'
import {
  atMost,
  type FactsIn,
  inside,
  levelFor,
  type OptionalMember,
  type Tune,
} from '../optional-members.ts'
import { errorIn } from './errors.ts'
import { MessagesReader } from './read-answer.ts'
import { FAMILY } from './read-request.ts'

/** Version sent for clients without a version header. Providers require a version. */
const VERSION = '2023-06-01'

const requestTo =
  (path: string): UpstreamDialect['request'] =>
  (request, model, access) => ({
    ...headTo(path, request, access),
    body: spliceMembers(withoutForeignReasoning(request.text, FAMILY), { model: JSON.stringify(model) }),
  })

/** Returns a request without its body. */
function headTo(
  path: string,
  { stream, forwarded, query }: ClientRequest,
  { basePath, key }: ProviderAccess,
): Omit<ProviderRequest, 'body'> {
  const headers = ['content-type', 'application/json']
  headers.push('accept', stream ? 'text/event-stream' : 'application/json')
  headers.push('accept-encoding', 'identity', 'user-agent', 'waybill', ...forwarded)
  if (!forwarded.includes('anthropic-version')) headers.push('anthropic-version', VERSION)
  if (key !== null) headers.push('x-api-key', key)
  return { path: `${versioned(basePath)}${path}${query && `?${query}`}`, headers }
}

const NOTHING = {}

export const modelList: Dialect['modelList'] = (key) => ({
  path: '/v1/models',
  headers: { 'x-api-key': key, 'anthropic-version': VERSION },
})

/**
 * Adds `/v1` unless the base URL ends in a version. Anthropic's clients expect a base URL without a version.
 */
const versioned = (basePath: string): string => (/\/v\d+$/.test(basePath) ? basePath : `${basePath}/v1`)

/** Returns members that request adaptive thinking, with the accepted effort nearest to the budget. */
function adaptive({ thinking, output_config }: Json, factsOf: FactsIn): Json | null {
  const facts = factsOf('messages')
  if (facts.thinking?.includes('adaptive') === false) return null
  const budget = member(thinking, 'budget_tokens')
  const asked = typeof budget === 'number' ? effortOfBudget(budget) : null
  const effort = asked && facts.efforts ? nearestEffort(asked, facts.efforts, new Losses()) : asked
  const config = { ...(effort && { effort }), ...(isObject(output_config) ? output_config : {}) }
  return {
    thinking: { type: 'adaptive' },
    ...(Object.keys(config).length > 0 && { output_config: config }),
  }
}

export const optional: readonly OptionalMember[] = [
  { path: ['temperature'], loss: 'sampling.temperature' },
  { path: ['top_p'], loss: 'sampling.temperature' },
  { path: ['top_k'], loss: 'sampling.top_k' },
  {
    path: ['thinking', 'type'],
    within: ['thinking'],
    loss: 'effort',
    words: /\b(adaptive )?thinking (is not supported|may not be enabled)/i,
    byValue: true,
    instead: {
      words: /\bthinking\.type\.enabled\b.*\buse ["'`]thinking\.type\.adaptive\b/is,
      members: adaptive,
      loss: 'thinking.budget',
    },
  },
  { path: ['output_config', 'effort'], loss: 'effort', words: /\beffort parameter\b/i },
  { path: ['metadata'], loss: 'metadata' },
  { path: ['service_tier'], loss: 'service_tier' },
  { path: ['context_management'], loss: 'context_management' },
]

/** Minimum thinking budget, in tokens. */
const MIN_BUDGET_TOKENS = 1_024

export const tuned: Tune = (body, { effort, maxOutput }, factsOf) => {
  const facts = factsOf('messages')
  const limited = maxOutput === null ? body : spliceMembers(body, { max_tokens: atMost(maxOutput) })
  if (effort === null) return withSmallerBudget(limited)
  const { efforts = [], thinking = ['budget', 'off'] } = facts
  if (efforts.length > 0) {
    const level = levelFor(effort, facts, efforts)
    const values: Record<string, Replacement> =
      level === null ? {} : { output_config: inside({ effort: JSON.stringify(level) }) }
    return withSmallerBudget(spliceMembers(limited, values))
  }
  const budget = effort === 'none' ? null : budgetOfEffort(effort)
  if (budget === null)
    return thinking.includes('off') ? omitMembers(limited, [['thinking']]) : withSmallerBudget(limited)
  if (!thinking.includes('budget')) return limited
  const value = JSON.stringify({ type: 'enabled', budget_tokens: budget })
  return withSmallerBudget(spliceMembers(limited, { thinking: value }))
}

/** Lowers a thinking budget below the output limit. Removes the budget if even the minimum does not fit. */
function withSmallerBudget(body: string): string {
  const most = Number(memberText(body, 'max_tokens') ?? Number.NaN)
  const budget = Number(memberText(memberText(body, 'thinking') ?? '{}', 'budget_tokens') ?? Number.NaN)
  if (!(budget >= most)) return body
  const smaller = most - MIN_BUDGET_TOKENS
  return smaller < MIN_BUDGET_TOKENS
    ? omitMembers(body, [['thinking']])
    : spliceMembers(body, { thinking: inside({ budget_tokens: String(smaller) }) })
}

export const upstream = {
  optional,
  tuned,
  // Bedrock says "input" in place of "prompt" and adds an introduction before both messages.
  isTooLong: ({ message }) =>
    /^(the model returned the following errors: )?(prompt|input) is too long|exceed context limit/i.test(
      message,
    ),
  // The operator's organization is Anthropic's only private header.
  relayedHeaders: /^(anthropic-(?!organization-id$).+|request-id|x-request-id|x-ratelimit-.+)$/,

  request: requestTo('/messages'),
  prepared: (_, access) => (request) =>
    mayHoldCarriers(request.text) ? null : { ...headTo('/messages', request, access), added: NOTHING },
  countTokens: {
    request: requestTo('/messages/count_tokens'),
    isCount(text) {
      try {
        return tokenCount(member(JSON.parse(text), 'input_tokens')) !== null
      } catch {
        return false
      }
    },
  },

  readAnswer(text, parts = null) {
    const json: unknown = JSON.parse(text)
    const isMessage = isObject(json) && Array.isArray(json.content)
    const error = errorIn(json) ?? (isObject(json) && !isMessage ? openAiErrorIn(json) : null)
    if (error) return { ...EMPTY_EVENT, done: true, error }
    if (!isMessage) throw new Error('not a message')
    return {
      ...new MessagesReader(parts).answer(json, parts ? (parseExact(text) as Json) : json),
      done: true,
    }
  },

  openStream: (parts = null): StreamReader => new MessagesReader(parts),

  readError(text) {
    try {
      return errorIn(JSON.parse(text))
    } catch {
      return null
    }
  },
} satisfies UpstreamDialect
