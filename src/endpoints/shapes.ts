// The shapes that several answers are made of, for the OpenAPI document and the tests. Contract "Fields".
import { z } from 'zod'

export const time = z.iso.datetime({ precision: 3 })
export const count = z.int().nonnegative()
export const share = z.number().min(0).max(1).nullable()
export const usd = z.number().nonnegative().nullable()

export const tokens = z.strictObject({
  input: count.nullable(),
  output: count.nullable(),
  cached_input: count.nullable(),
  cache_write: count.nullable(),
  reasoning: count.nullable(),
})

/** A page of a list of `item`. */
export const listOf = <Item extends z.ZodType>(item: Item) =>
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
  input_tokens: count.nullable(),
  output_tokens: count.nullable(),
  cost_usd: usd,
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
  tokens,
  cost_usd: usd,
})
