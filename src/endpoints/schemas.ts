// Schemas that several answers share; see the contract's section "Fields". The OpenAPI document is built from
// them, and the tests check every answer against them.
import { z } from 'zod'
import { MODEL_TYPES } from '../config/schema.ts'
import { ATTEMPT_FIELDS, CALL_FIELDS, type Field, type Kind, type RecordOf } from '../core/record.ts'

export const time = z.iso.datetime({ precision: 3 })
export const ms = z.number().nonnegative()
export const usd = z.number().nonnegative().describe('US dollars')
export const count = z.int().nonnegative()
const reported = count.nullable().describe('null: not reported')
/** Share of all calls; null if there are none. */
export const share = z.number().min(0).max(1).nullable()

/** Cost of several calls. */
const costs = {
  cost_usd: usd.nullable().describe('US dollars, as far as they are known; null: nothing is known'),
  cost_is_minimum: z.boolean().describe('the cost of some calls is not fully known, or not yet'),
  cost_is_estimated: z
    .boolean()
    .describe('the cost of some calls is computed from estimated tokens, because no usage was reported'),
  calls_without_cost: count.describe('calls whose cost is not fully known, or not yet'),
  flat_usd: usd.describe('part of `cost_usd` for which a subscription pays'),
}

/** Tokens of several calls. */
const tokenSums = z.strictObject({
  input: reported,
  output: reported,
  cached_input: reported,
  cache_write: reported,
  reasoning: reported,
})

/** Schema of the expected cost of a call at the targets of a route. */
export const costEstimate = z.strictObject({
  input_tokens: count,
  output_tokens: count,
  later_calls: z.number().nonnegative().describe('further calls while the prompt is cached'),
  targets: z.array(
    z.strictObject({
      target: z.string(),
      usd: usd.nullable().describe('of this call'),
      cached_tokens: count,
      later_usd: usd.nullable().describe('of a later call, once the prompt is cached'),
    }),
  ),
})

const KINDS: Readonly<Record<Kind, (field: Field) => z.ZodType>> = {
  id: () => z.uuid(),
  text: () => z.string(),
  enum: ({ values }) => z.enum(values!),
  time: () => time,
  boolean: () => z.boolean(),
  count: () => count,
  status: () => z.int(),
  ms: () => ms,
  usd: () => usd,
  tokens: () => tokenSums.extend({ source: z.enum(['reported', 'estimated']).nullable() }),
  words: () => z.array(z.string()),
  usage: () => z.looseObject({}),
  decision: () =>
    z.strictObject({
      cause: z.string(),
      skipped: z.array(z.strictObject({ target: z.string(), reason: z.string() })),
      estimate: costEstimate.optional(),
    }),
  price: () =>
    z.strictObject({
      source: z.string(),
      model: z.string(),
      rates: z.looseObject({}),
      factors: z.record(z.string(), z.number()).optional(),
      fees: z.record(z.string(), z.number()).optional(),
    }),
}

/** Returns the schema of a row; see `src/core/record.ts`. */
function schemaOf<Fields extends Readonly<Record<string, Field>>>(fields: Fields) {
  const shape = Object.entries(fields).map(([name, field]) => {
    const schema = field.nullable ? KINDS[field.kind](field).nullable() : KINDS[field.kind](field)
    return [name, field.about ? schema.describe(field.about) : schema]
  })
  type Shape = { [Name in keyof Fields]: z.ZodType<RecordOf<Fields>[Name]> }
  return z.strictObject(Object.fromEntries(shape) as Shape)
}

/** Schema of one call, as in every list. */
export const callRecord = schemaOf(CALL_FIELDS)

/** Schema of one request from the gateway to a provider. */
export const attempt = schemaOf(ATTEMPT_FIELDS)

/** Schema of a page of a list, newest first. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({
    object: z.literal('list'),
    data: z.array(item),
    has_more: z.boolean(),
    next_cursor: z.uuid().nullable(),
  })

export const span = z.strictObject({ since: time, until: time })

export const usage = z.strictObject({
  calls: count,
  failed: count.describe('calls that failed or were interrupted'),
  aborted: count.describe('calls that their client left'),
  fell_back: count,
  input_tokens: reported,
  output_tokens: reported,
  cached_input_tokens: reported.describe('part of the input that was read from a cache'),
  moved: count.describe('calls whose conversation had its prompt cached at another target'),
  cache_lost: count.describe('cached tokens that were lost by that'),
  ...costs,
  saved_usd: usd,
})

/** Usage of a session, for all its calls or a part of them. */
export const sessionAmounts = {
  calls: count,
  failed: count,
  aborted: count.describe('calls that their client left'),
  tokens: tokenSums,
  ...costs,
}

export const session = z.strictObject({
  session_id: z.string(),
  first_seen: time,
  last_seen: time,
  last_requested_model: z.string(),
  last_provider: z.string(),
  last_model: z.string(),
  last_client: z.string().nullable().describe('name of the program that made the last call'),
  ...sessionAmounts,
})

/** An entry of OpenAI's model list, with its type. */
export const catalogEntry = z.strictObject({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
  type: z.enum([...MODEL_TYPES, 'route']),
  context_window: count.optional().describe('longest input, tokens; absent: not known'),
  max_completion_tokens: count
    .optional()
    .describe('largest output that may be asked, tokens; absent: not known'),
})

/** Schema of one recording from which a replaying gateway answers. */
export const recordingSummary = z.strictObject({
  name: z.string(),
  provider: z.string(),
  endpoint: z.string(),
  model: z.string().nullable().describe('null: any'),
  stream: z.boolean().nullable().describe('null: either way'),
  scenario: z.string(),
  status: z.int(),
  bytes: count,
  chunks: count,
  origin: z.enum(['recorded', 'authored', 'synthetic']),
  date: z.iso.date(),
  api_version: z.string(),
  shape: z.string(),
})
export type RecordingSummary = z.output<typeof recordingSummary>
