// The shapes of answers that several endpoints share, contract "Fields". The OpenAPI document is made of them, and the
// tests hold every answer against them.
import { z } from 'zod'
import { CALL_STATES } from '../call.ts'

export const time = z.iso.datetime({ precision: 3 })
export const ms = z.number().nonnegative()
export const usd = z.number().nonnegative().describe('US dollars')
export const count = z.int().nonnegative()
const reported = count.nullable().describe('null: not reported')
/** Of all calls; null where there are none. */
export const share = z.number().min(0).max(1).nullable()

/** What several calls used together. */
export const tokenSums = z.strictObject({
  input: reported,
  output: reported,
  cached_input: reported,
  cache_write: reported,
  reasoning: reported,
})

const tokens = tokenSums.extend({ source: z.enum(['reported', 'estimated']).nullable() })

/** One call, as in every list. */
export const callRecord = z.strictObject({
  id: z.uuid().describe('UUIDv7, the `X-Gateway-Request-Id` of the answer'),
  created_at: time,
  completed_at: time.nullable(),
  state: z.enum(CALL_STATES),
  endpoint: z.string(),
  requested_model: z.string(),
  resolved_provider: z.string(),
  resolved_model: z.string(),
  picked_provider: z.string(),
  picked_model: z.string(),
  response_model: z.string().nullable(),
  route: z.string().nullable(),
  strategy: z.string().nullable(),
  tier: z.string().nullable(),
  decision: z.strictObject({
    cause: z.string(),
    skipped: z.array(z.strictObject({ target: z.string(), reason: z.string() })),
  }),
  session_id: z.string().nullable(),
  agent_id: z.string().nullable(),
  key_name: z.string().nullable(),
  stream: z.boolean(),
  status: z.int().nullable(),
  error_code: z.string().nullable(),
  attempts: z.int().nonnegative(),
  fallbacks: z.int().nonnegative(),
  latency_ms: ms.nullable(),
  ttft_ms: ms.nullable(),
  tokens,
  cost_usd: usd.nullable(),
  price: z
    .strictObject({ source: z.string(), model: z.string(), rates: z.looseObject({}) })
    .nullable()
    .describe('US dollars per million tokens, as they were applied'),
  cache: z.enum(['HIT', 'MISS', 'BYPASS']),
  saved_usd: usd.nullable(),
})

/** One request from the gateway to a provider. */
export const attempt = z.strictObject({
  n: z.int().positive(),
  provider: z.string(),
  model: z.string(),
  started_at: time,
  ended_at: time.nullable(),
  status: z.int().nullable(),
  outcome: z.enum(['open', 'answered', 'failed', 'timed_out', 'aborted', 'not_sent', 'unknown']),
  error_code: z.string().nullable(),
  tokens,
  cost_usd: usd.nullable(),
})

/** A page of a list, newest first. */
export const page = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z.uuid().nullable(),
  })

export const span = z.strictObject({ since: time, until: time })

export const usage = z.strictObject({
  calls: count,
  failed: count,
  input_tokens: reported,
  output_tokens: reported,
  cost_usd: usd.nullable(),
})

export const session = z.strictObject({
  session_id: z.string(),
  first_seen: time,
  last_seen: time,
  calls: count,
  failed: count,
  last_requested_model: z.string(),
  last_provider: z.string(),
  last_model: z.string(),
  tokens: tokenSums,
  cost_usd: usd.nullable(),
})

/** An entry of OpenAI's model list, with its type. */
export const catalogEntry = z.strictObject({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
  type: z.enum(['chat', 'embedding', 'image', 'route']),
})
