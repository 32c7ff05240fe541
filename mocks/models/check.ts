// Checks a valid request against the limits of its model, and finds the reason why the provider would refuse
// it. Reads the facts about models (src/models). Knows the dialects' fields and the providers' wording; names
// no model.
import type { Facts } from '../../src/models/facts.ts'
import { geminiProblem } from './gemini.ts'
import { messagesProblem } from './messages.ts'
import { chatProblem, liteProblem, responsesProblem } from './openai.ts'
import type { Fields, ModelProblem, RequestHeaders } from './problem.ts'

const BY_ENDPOINT: Readonly<
  Record<string, (body: Fields, facts: Facts, model: string) => ModelProblem | null>
> = {
  messages: messagesProblem,
  'messages/count_tokens': ({ max_tokens: _, messages, ...body }, facts, model) =>
    messagesProblem({ ...body, messages: [] }, facts, model),
  'chat/completions': chatProblem,
  responses: responsesProblem,
  'models/{model}:generateContent': geminiProblem,
}

/** Returns the first reason to refuse a request to an endpoint; null if no known fact is a reason. */
export function modelProblem(
  endpoint: string,
  model: string,
  body: unknown,
  facts: Facts,
  headers: RequestHeaders = {},
): ModelProblem | null {
  const marked = endpoint === 'responses' ? liteProblem(headers, facts) : null
  if (marked) return marked
  const judge = BY_ENDPOINT[endpoint]
  return judge && typeof body === 'object' && body !== null ? judge(body as Fields, facts, model) : null
}
