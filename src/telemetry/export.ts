// Sends the spans of ended calls to a collector. Reads the calls from the record and posts their spans as
// OTLP in protobuf. The collector cannot affect a call. Spans that it does not accept in time are dropped and
// counted. Loaded only with `telemetry:`.
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { pairsIn } from '../config/otel.ts'
import type { CallDetail } from '../core/record.ts'
import { type TracedCall, type TracingSettings, traceOf } from '../core/tracing.ts'
import { after, signalAfter, stray } from '../shared/boundary.ts'
import { sleep, type Timer } from '../shared/clock.ts'
import { type Content, type OtlpSpan, type Resource, spansOf } from './spans.ts'

interface SpanExportOptions {
  /** Base address for OTLP; `/v1/traces` is appended. */
  readonly endpoint: string
  /** Complete address instead. */
  readonly tracesEndpoint: string | undefined
  /** Headers as comma-separated `name=value` pairs; a secret. */
  readonly headers: string | undefined
  readonly service: string
  /** Additional attributes of the service. */
  readonly attributes: Readonly<Record<string, string>>
  readonly version: string
  readonly instance: string
  readonly tracing: TracingSettings
  /** Returns the operation of a call by its recorded endpoint. */
  readonly operationOf: (endpoint: string) => string
  /** True to include requests and answers. */
  readonly content: boolean
  readonly proposedCost: boolean
  readonly calls: {
    find(id: string): Promise<CallDetail | null>
    artifact(id: string): Promise<string | null>
  }
  /** Called with the reason when calls begin to be dropped, and with null when dropping ends. */
  readonly onFailure: (reason: string | null) => void
}

export interface TraceExport {
  /** Called when a call's record is closed. */
  ended(call: TracedCall): void
  /** Number of spans that were not sent. */
  readonly dropped: number
  /** Sends the waiting spans, with a short timeout. */
  close(): Promise<void>
}

/** Maximum number of waiting calls. */
const MAX_WAITING_CALLS = 2_000
const BATCH_CALLS = 100
const EVERY_MS = 1_000
const ANSWER_MS = 5_000
/** Initial and maximum delay after a failure, ms. */
const BACKOFF_MS = 1_000
const MAX_BACKOFF_MS = 30_000

export function startTraceExport(options: SpanExportOptions): TraceExport {
  const { tracing, calls } = options
  const url = options.tracesEndpoint ?? `${options.endpoint.replace(/\/+$/, '')}/v1/traces`
  const headers = { ...pairsIn(options.headers ?? ''), 'content-type': 'application/x-protobuf' }
  const resource = resourceOf(options)
  let waiting: string[] = []
  let dropped = 0
  let backoff = 0
  let failure: string | null = null
  let timer: Timer | undefined
  let running: Promise<void> | null = null

  const tell = (reason: string | null) => {
    if ((reason === null) !== (failure === null)) options.onFailure(reason)
    failure = reason
  }
  async function read(id: string): Promise<OtlpSpan[]> {
    const call = await calls.find(id).catch(() => null)
    if (!call) return []
    const artifact = options.content ? await calls.artifact(id).catch(() => null) : null
    const { version, operationOf } = options
    const trace = traceOf(call, tracing)
    return spansOf(call, trace, resource, version, operationOf, contentsIn(artifact), options.proposedCost)
  }
  /** Sends the spans of calls. Returns true if the collector accepted them or a retry is useless. */
  async function send(ids: readonly string[]): Promise<boolean> {
    const spans = (await Promise.all(ids.map(read))).flat()
    if (spans.length === 0) return true
    // The serializer's types require the SDK's classes, but only these members are read.
    const body = ProtobufTraceSerializer.serializeRequest(spans as never)
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers,
        body: body as Uint8Array<ArrayBuffer>,
        signal: signalAfter(ANSWER_MS),
        redirect: 'error',
      })
      await response.body?.cancel()
      if (response.ok) {
        tell(null)
        return true
      }
      tell(`the collector answered with status ${response.status}`)
      if (response.status === 429 || response.status >= 500) return false
      dropped += spans.length
      return true
    } catch (error) {
      tell(`the collector cannot be reached: ${(error as Error).message}`)
      return false
    }
  }
  async function sendAll(): Promise<void> {
    while (waiting.length > 0) {
      const ids = waiting.slice(0, BATCH_CALLS)
      if (!(await send(ids))) {
        backoff = Math.min(Math.max(BACKOFF_MS, backoff * 2), MAX_BACKOFF_MS)
        return
      }
      backoff = 0
      waiting = waiting.filter((id) => !ids.includes(id))
    }
  }
  const run = (): Promise<void> => {
    running ??= sendAll().finally(() => {
      running = null
      if (waiting.length > 0) later()
    })
    return running
  }
  const later = () => {
    const again = () => {
      timer = undefined
      return run()
    }
    timer ??= after(Math.max(EVERY_MS, backoff), again, () => timer?.refresh())
  }

  return {
    ended(call) {
      if (!traceOf(call, tracing).sampled) return
      if (waiting.length >= MAX_WAITING_CALLS) {
        waiting.shift()
        dropped += 2 // at least one span of the call and one of an attempt
      }
      waiting.push(call.id)
      later()
    },
    get dropped() {
      return dropped
    },
    async close() {
      timer?.close()
      if (waiting.length > 0) await Promise.race([run().catch(stray), sleep(1_000)])
      timer?.close()
    },
  }
}

/** Describes the gateway as a service. */
const resourceOf = ({ version, instance, attributes, service }: SpanExportOptions): Resource => ({
  attributes: {
    'service.version': version,
    'service.instance.id': instance,
    ...attributes,
    'service.name': service,
  },
})

interface KeptExchange {
  readonly request: { readonly body?: string }
  readonly answer: { readonly body?: string }
}

/** Returns requests and answers of a call's attempts from its artifact. */
function contentsIn(artifact: string | null): Content[] {
  if (artifact === null) return []
  const { exchanges } = JSON.parse(artifact) as { exchanges: KeptExchange[] }
  return exchanges.map(({ request, answer }) => ({
    request: request.body ?? null,
    answer: answer.body || null,
  }))
}
