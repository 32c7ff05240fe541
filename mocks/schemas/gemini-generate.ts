// What Gemini takes in `generateContent`, `streamGenerateContent` and `countTokens`: the fields of the public API
// reference, their types and ranges. Names may be written in camelCase or in snake_case, as the provider allows; the
// ones that matter here are checked as the official clients write them. Knows nothing of how a request is answered.
import { z } from 'zod'

/** A part holds one thing: text, a call, its result, data. The other kinds pass. */
const part = z.looseObject({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().optional(),
  functionCall: z.looseObject({ name: z.string().min(1), args: z.looseObject({}).optional() }).optional(),
  functionResponse: z.looseObject({ name: z.string().min(1), response: z.looseObject({}) }).optional(),
  inlineData: z.looseObject({ mimeType: z.string(), data: z.string() }).optional(),
  fileData: z.looseObject({ fileUri: z.string() }).optional(),
})

const content = z.looseObject({
  role: z.enum(['user', 'model', 'function']).optional(),
  parts: z.array(part),
})

const contents = z.array(content).min(1)

const tool = z.looseObject({
  functionDeclarations: z
    .array(z.looseObject({ name: z.string().regex(/^[A-Za-z_][\w.:-]{0,127}$/) }))
    .optional(),
})

const generationConfig = z.looseObject({
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  topK: z.number().min(1).optional(),
  candidateCount: z.int().min(1).max(8).optional(),
  maxOutputTokens: z.int().min(1).optional(),
  stopSequences: z.array(z.string()).max(5).optional(),
  responseMimeType: z.string().optional(),
  responseModalities: z.array(z.string()).optional(),
  responseLogprobs: z.boolean().optional(),
  logprobs: z.int().min(0).max(20).optional(),
  presencePenalty: z.number().min(-2).max(2).optional(),
  frequencyPenalty: z.number().min(-2).max(2).optional(),
  seed: z.int().optional(),
  thinkingConfig: z
    .looseObject({ includeThoughts: z.boolean().optional(), thinkingBudget: z.int().min(-1).optional() })
    .optional(),
})

/** The body of `POST models/{model}:generateContent` and `:streamGenerateContent`. */
export const geminiGenerateBody = z.looseObject({
  contents,
  cachedContent: z.string().optional(),
  generationConfig: generationConfig.optional(),
  generation_config: generationConfig.optional(),
  labels: z.record(z.string(), z.string()).optional(),
  model: z.string().optional(),
  safetySettings: z.array(z.looseObject({ category: z.string(), threshold: z.string() })).optional(),
  safety_settings: z.array(z.looseObject({})).optional(),
  serviceTier: z.string().optional(),
  store: z.boolean().optional(),
  systemInstruction: content.optional(),
  system_instruction: content.optional(),
  toolConfig: z.looseObject({}).optional(),
  tool_config: z.looseObject({}).optional(),
  tools: z.array(tool).optional(),
})

/** The body of `POST models/{model}:countTokens`: contents, or a whole request. */
export const geminiCountTokensBody = z.looseObject({
  contents: contents.optional(),
  generateContentRequest: geminiGenerateBody.optional(),
})
