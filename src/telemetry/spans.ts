// Converts a recorded call to spans: one for the call, and below it one for each attempt. Only the attempts
// have usage and cost, so nothing is counted twice. Ids are derived from the record, so a repeated export
// makes no second trace. Pure; prompts appear only if passed in.
import type { AttemptRecord, CallDetail } from '../core/record.ts'
import { type SpanPlace, spanIdOf, type TraceOfCall } from '../core/tracing.ts'

type Attributes = Record<string, string | number | boolean>
/** Seconds and nanoseconds since the epoch. */
type HrTime = readonly [number, number]
type SpanContext = SpanPlace & { readonly traceFlags: 1; readonly isRemote?: true }

/** A span in the format of OpenTelemetry's serializer. */
export interface OtlpSpan {
  readonly name: string
  /** Kind of the span: 1 for server, 2 for client. */
  readonly kind: 1 | 2
  readonly spanContext: () => SpanContext
  readonly parentSpanContext?: SpanContext
  readonly startTime: HrTime
  readonly endTime: HrTime
  /** 2: an error. */
  readonly status: { readonly code: 0 | 2; readonly message?: string }
  readonly attributes: Attributes
  readonly links: readonly { readonly context: SpanContext }[]
  readonly events: readonly []
  readonly resource: Resource
  readonly instrumentationScope: {
    readonly name: string
    readonly version: string
    readonly schemaUrl: string
  }
  readonly droppedAttributesCount: 0
  readonly droppedEventsCount: 0
  readonly droppedLinksCount: 0
}

export interface Resource {
  readonly attributes: Attributes
}

/** Request to a provider and its answer; null if not stored. */
export interface Content {
  readonly request: string | null
  readonly answer: string | null
}

const NONE_DROPPED = { droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 } as const
const NO_EVENTS = { events: [], ...NONE_DROPPED } as const

/**
 * Returns the spans of a call. `contents`: requests and answers of the attempts in order, only if they are
 * exported. `hasProposedCost`: adds the cost under the names that are proposed for the conventions.
 */
export function spansOf(
  call: CallDetail,
  { traceId, parent, link }: TraceOfCall,
  resource: Resource,
  version: string,
  operationOf: (endpoint: string) => string,
  contents: readonly Content[] = [],
  hasProposedCost = false,
): OtlpSpan[] {
  const context = (n: number): SpanContext => ({ traceId, spanId: spanIdOf(call.id, n), traceFlags: 1 })
  const remote = (place: SpanPlace): SpanContext => ({ ...place, traceFlags: 1, isRemote: true })
  const common = {
    links: [] as const,
    resource,
    instrumentationScope: { name: 'waybill', version, schemaUrl: SCHEMA_URL },
    ...NO_EVENTS,
  }
  const end = call.completed_at ?? call.created_at
  const failed = call.state !== 'completed'
  return [
    {
      ...common,
      name: `POST ${call.endpoint}`,
      kind: 1,
      spanContext: () => context(0),
      ...(parent && { parentSpanContext: remote(parent) }),
      links: link ? [{ context: remote(link) }] : [],
      startTime: timeOf(call.created_at),
      endTime: timeOf(end),
      status: failed ? { code: 2, message: call.error_code ?? call.state } : { code: 0 },
      attributes: known({
        [NAMES.httpMethod]: 'POST',
        [NAMES.httpRoute]: call.endpoint,
        [NAMES.httpStatus]: call.status,
        [NAMES.conversation]: call.session_id,
        [NAMES.errorType]: failed ? (call.error_code ?? call.state) : null,
        'waybill.request_id': call.id,
        'waybill.requested_model': call.requested_model,
        'waybill.route': call.route,
        'waybill.strategy': call.strategy,
        'waybill.cause': call.decision.cause,
        'waybill.cache': call.cache,
        'waybill.state': call.state,
        'waybill.key_name': call.key_name,
        ...servedOf(call),
      }),
    },
    ...call.attempt_log.map((attempt): OtlpSpan => {
      const isLast = attempt.n === call.attempt_log.length
      const wrong = attempt.outcome !== 'answered'
      return {
        ...common,
        name: `${operationOf(call.endpoint)} ${attempt.model}`,
        kind: 2,
        spanContext: () => context(attempt.n),
        parentSpanContext: context(0),
        startTime: timeOf(attempt.started_at),
        endTime: timeOf(attempt.ended_at ?? end),
        status: wrong ? { code: 2, message: attempt.error_code ?? attempt.outcome } : { code: 0 },
        attributes: known({
          [NAMES.operation]: operationOf(call.endpoint),
          [NAMES.provider]: attempt.provider,
          [NAMES.requestModel]: attempt.model,
          [NAMES.requestStream]: call.stream,
          [NAMES.responseModel]: isLast && !wrong ? call.response_model : null,
          [NAMES.responseId]: isLast && !wrong ? call.response_id : null,
          [NAMES.conversation]: call.session_id,
          [NAMES.httpStatus]: attempt.status,
          [NAMES.errorType]: wrong ? (attempt.error_code ?? attempt.outcome) : null,
          ...usageOf(attempt),
          ...(hasProposedCost && proposedCostOf(attempt, isLast && call.reported_usd !== null)),
          ...contentOf(contents[attempt.n - 1]),
          'waybill.attempt': attempt.n,
          'waybill.outcome': attempt.outcome,
          'waybill.unknown': attempt.outcome === 'unknown' ? true : null,
        }),
      }
    }),
  ]
}

const servedOf = (call: CallDetail): Record<string, string | number | null> => ({
  'waybill.purpose': call.purpose,
  'waybill.service_tier': call.service_tier,
  'waybill.speed': call.speed,
  'waybill.region': call.region,
  'waybill.reported_usd': call.reported_usd,
  'waybill.flat_usd': call.flat_usd,
})

const usageOf = ({ tokens, cost_usd }: AttemptRecord): Record<string, number | null> => ({
  [NAMES.inputTokens]: tokens.input,
  [NAMES.outputTokens]: tokens.output,
  [NAMES.cacheReadTokens]: tokens.cached_input,
  [NAMES.cacheCreationTokens]: tokens.cache_write,
  [NAMES.reasoningTokens]: tokens.reasoning,
  [NAMES.cost]: cost_usd,
})

/** Returns the cost under the proposed names: from the provider's answer, or computed here. */
const proposedCostOf = ({ cost_usd }: AttemptRecord, isReported: boolean): Record<string, string | number> =>
  cost_usd === null
    ? {}
    : {
        [NAMES.costAmount]: cost_usd,
        [NAMES.costCurrency]: 'USD',
        [NAMES.costSource]: isReported ? 'provider' : 'local',
      }

/** Maximum length of a request or an answer, in characters. Collectors refuse much larger texts. */
const MAX_CONTENT_LENGTH = 2 ** 16

const contentOf = (content: Content | undefined): Record<string, string | null> => ({
  [NAMES.input]: content?.request?.slice(0, MAX_CONTENT_LENGTH) ?? null,
  [NAMES.output]: content?.answer?.slice(0, MAX_CONTENT_LENGTH) ?? null,
})

/** Returns only the known values. */
const known = (all: Readonly<Record<string, string | number | boolean | null>>): Attributes =>
  Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)) as Attributes

const timeOf = (iso: string): HrTime => {
  const ms = Date.parse(iso)
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000]
}

const SCHEMA_URL = 'https://opentelemetry.io/schemas/1.41.0'

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
