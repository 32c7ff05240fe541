// Request schemas of Gemini's `generateContent`, `streamGenerateContent` and `countTokens`: the fields of the
// public API reference, their types and ranges. Every field may be in camelCase or snake_case, as Gemini
// allows. Independent of answers.
import { z } from 'zod'
import { conversation, geminiConversation } from './conversation.ts'

/**
 * Returns the schema of a provider's object: `inline_data` is checked like `inlineData`. The content of the
 * caller's own objects is not checked.
 */
const message = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.preprocess(
    (value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).map(([name, member]) => [camelCase(name), member]))
        : value,
    z.looseObject(shape),
  )

const camelCase = (name: string): string => name.replace(/_([a-z\d])/g, (_, letter) => letter.toUpperCase())

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Returns the fields of a body in both spellings. */
const inBothSpellings = <Shape extends z.ZodRawShape>(shape: Shape) => ({
  ...Object.fromEntries(Object.entries(shape).map(([name, field]) => [snakeCase(name), z.optional(field)])),
  ...shape,
})

/** Part with one content: text, a call, a result, or data. Other types are accepted. */
const part = message({
  text: z.string().optional(),
  thought: z.boolean().optional(),
  thoughtSignature: z.string().optional(),
  functionCall: message({ name: z.string().min(1), args: z.looseObject({}).optional() }).optional(),
  functionResponse: message({ name: z.string().min(1), response: z.looseObject({}) }).optional(),
  inlineData: message({ mimeType: z.string(), data: z.string() }).optional(),
  fileData: message({ fileUri: z.string() }).optional(),
})

const content = message({
  role: z.enum(['user', 'model', 'function']).optional(),
  parts: z.array(part),
})

const contents = z.array(content).min(1)

const tool = message({
  functionDeclarations: z
    .array(z.looseObject({ name: z.string().regex(/^[A-Za-z_][\w.:-]{0,127}$/) }))
    .optional(),
})

const generationConfig = message({
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
  thinkingConfig: message({
    includeThoughts: z.boolean().optional(),
    thinkingBudget: z.int().min(-1).optional(),
  }).optional(),
})

/** Body of `POST models/{model}:generateContent` and `:streamGenerateContent`. */
export const geminiGenerateBody = z
  .looseObject(
    inBothSpellings({
      contents,
      cachedContent: z.string().optional(),
      generationConfig: generationConfig.optional(),
      labels: z.record(z.string(), z.string()).optional(),
      model: z.string().optional(),
      safetySettings: z.array(message({ category: z.string(), threshold: z.string() })).optional(),
      serviceTier: z.string().optional(),
      store: z.boolean().optional(),
      systemInstruction: content.optional(),
      toolConfig: message({}).optional(),
      tools: z.array(tool).optional(),
    }),
  )
  .superRefine(conversation(geminiConversation))

/** Body of `POST models/{model}:countTokens`: only contents, or a whole request. */
export const geminiCountTokensBody = z.looseObject(
  inBothSpellings({
    contents: contents.optional(),
    generateContentRequest: geminiGenerateBody.optional(),
  }),
)
