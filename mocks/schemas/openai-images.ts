// Request schema of OpenAI's `images/generations`: the fields of the public API reference, their types and
// ranges. Independent of answers.
import { z } from 'zod'

/** Body of `POST images/generations`. */
export const openAiImagesBody = z.looseObject({
  prompt: z.string().min(1).max(32_000),
  background: z.enum(['transparent', 'opaque', 'auto']).nullish(),
  model: z.string().min(1).nullish(),
  moderation: z.enum(['low', 'auto']).nullish(),
  n: z.int().min(1).max(10).nullish(),
  output_compression: z.int().min(0).max(100).nullish(),
  output_format: z.enum(['png', 'jpeg', 'webp']).nullish(),
  partial_images: z.int().min(0).max(3).nullish(),
  quality: z.enum(['standard', 'hd', 'low', 'medium', 'high', 'auto']).nullish(),
  response_format: z.enum(['url', 'b64_json']).nullish(),
  size: z
    .string()
    .regex(/^(auto|\d+x\d+)$/)
    .nullish(),
  stream: z.boolean().nullish(),
  style: z.enum(['vivid', 'natural']).nullish(),
  user: z.string().optional(),
})
