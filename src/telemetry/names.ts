// Names used in spans: OpenTelemetry's conventions for generative AI, as last published (1.41), pinned only
// here. All of them are still in development. A later version changes this table.
export const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.41.0'

export const NAMES = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  requestStream: 'gen_ai.request.stream',
  responseModel: 'gen_ai.response.model',
  responseId: 'gen_ai.response.id',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheCreationTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  /** Cost. There is no convention yet; Langfuse prefers this attribute to its own estimate. */
  cost: 'gen_ai.usage.cost',
  /**
   * Cost, its currency and its source, as proposed for the conventions in semantic-conventions-genai, pull request 443,
   * which is open. Sent only with `telemetry.proposed_cost`, because Langfuse takes every other number below
   * `gen_ai.usage` for a number of tokens.
   */
  costAmount: 'gen_ai.usage.cost.amount',
  costCurrency: 'gen_ai.usage.cost.currency',
  costSource: 'gen_ai.usage.cost.source',
  /** The provider's raw request and answer. The names are OpenInference's, which Phoenix and Langfuse read. */
  input: 'input.value',
  output: 'output.value',
  conversation: 'gen_ai.conversation.id',
  errorType: 'error.type',
  httpMethod: 'http.request.method',
  httpRoute: 'http.route',
  httpStatus: 'http.response.status_code',
} as const
