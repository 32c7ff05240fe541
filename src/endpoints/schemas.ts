// The shapes of answers that several endpoints share, contract "Fields". The OpenAPI document is made of them, and the
// tests hold every answer against them.
import { z } from 'zod'
import { MODEL_TYPES } from '../config/schema.ts'
import { ATTEMPT_FIELDS, CALL_FIELDS, type Field, type Kind, type RecordOf } from '../record.ts'

export const time = z.iso.datetime({ precision: 3 })
export const ms = z.number().nonnegative()
export const usd = z.number().nonnegative().describe('US dollars')
export const count = z.int().nonnegative()
const reported = count.nullable().describe('null: not reported')
export const callsWithoutCost = count.describe(
  'calls whose cost is not known, or not known yet; they are not in cost_usd',
)
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
  decision: () =>
    z.strictObject({
      cause: z.string(),
      skipped: z.array(z.strictObject({ target: z.string(), reason: z.string() })),
    }),
  price: () => z.strictObject({ source: z.string(), model: z.string(), rates: z.looseObject({}) }),
}

/** The schema of a row, see `src/record.ts`. */
function schemaOf<Fields extends Readonly<Record<string, Field>>>(fields: Fields) {
  const shape = Object.entries(fields).map(([name, field]) => {
    const schema = field.nullable ? KINDS[field.kind](field).nullable() : KINDS[field.kind](field)
    return [name, field.about ? schema.describe(field.about) : schema]
  })
  type Shape = { [Name in keyof Fields]: z.ZodType<RecordOf<Fields>[Name]> }
  return z.strictObject(Object.fromEntries(shape) as Shape)
}

/** One call, as in every list. */
export const callRecord = schemaOf(CALL_FIELDS)

/** One request from the gateway to a provider. */
export const attempt = schemaOf(ATTEMPT_FIELDS)

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
  fell_back: count,
  input_tokens: reported,
  output_tokens: reported,
  cost_usd: usd.nullable(),
  calls_without_cost: callsWithoutCost,
  saved_usd: usd,
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
  calls_without_cost: callsWithoutCost,
})

/** An entry of OpenAI's model list, with its type. */
export const catalogEntry = z.strictObject({
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.string(),
  type: z.enum([...MODEL_TYPES, 'route']),
})
