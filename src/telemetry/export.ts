// Sends the spans of calls to a collector, after the fact: hears which calls ended, reads them from the record and posts
// them as OTLP in protobuf. The collector cannot affect a call; what it does not accept in time is dropped and counted.
// Loaded only with `telemetry:`.
import { ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import { pairsIn } from '../config/otel.ts'
import type { CallDetail } from '../record.ts'
import { type TracedCall, type TracingSettings, traceOf } from '../tracing.ts'
import { type Content, type Resource, type Span, spansOf } from './spans.ts'

export interface ExportOptions {
  /** Where OTLP is taken; `/v1/traces` is added. */
  readonly endpoint: string
  /** The whole address instead. */
  readonly tracesEndpoint: string | undefined
  /** A secret: `name=value`, with commas between. */
  readonly headers: string | undefined
  readonly service: string
  /** Further attributes of the service. */
  readonly attributes: Readonly<Record<string, string>>
  readonly version: string
  readonly instance: string
  readonly tracing: TracingSettings
  /** Whether requests and answers go along. */
  readonly content: boolean
  readonly calls: {
    find(id: string): Promise<CallDetail | null>
    artifact(id: string): Promise<string | null>
  }
  /** Hears of it when calls begin to be dropped, or are not any more (null). */
  readonly onFailure: (reason: string | null) => void
}

export interface TraceExport {
  /** A call is closed on record. */
  ended(call: TracedCall): void
  /** Spans that were not sent. */
  readonly dropped: number
  /** Sends what waits, for a moment. */
  close(): Promise<void>
}

/** Calls that may wait. */
const MOST_WAITING = 2_000
const A_TIME = 100
const EVERY_MS = 1_000
const ANSWER_MS = 5_000
/** How long it waits after a failure, at first and at most, ms. */
const BACKOFF_MS = 1_000
const MOST_BACKOFF_MS = 30_000

export function startTraceExport(options: ExportOptions): TraceExport {
  const { tracing, calls } = options
  const url = options.tracesEndpoint ?? `${options.endpoint.replace(/\/+$/, '')}/v1/traces`
  const headers = { ...pairsIn(options.headers ?? ''), 'content-type': 'application/x-protobuf' }
  const resource: Resource = {
    attributes: {
      'service.version': options.version,
      'service.instance.id': options.instance,
      ...options.attributes,
      'service.name': options.service,
    },
  }
  let waiting: string[] = []
  let dropped = 0
  let backoff = 0
  let failure: string | null = null
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | null = null

  const tell = (reason: string | null) => {
    if ((reason === null) !== (failure === null)) options.onFailure(reason)
    failure = reason
  }
  async function read(id: string): Promise<Span[]> {
    const call = await calls.find(id).catch(() => null)
    if (!call) return []
    const artifact = options.content ? await calls.artifact(id).catch(() => null) : null
    return spansOf(call, traceOf(call, tracing), resource, options.version, contentsIn(artifact))
  }
  /** Whether the collector took them, or there is no use in trying again. */
  async function send(ids: readonly string[]): Promise<boolean> {
    const spans = (await Promise.all(ids.map(read))).flat()
    if (spans.length === 0) return true
    // The serializer's types want the SDK's classes; it reads these members and no other.
    const body = ProtobufTraceSerializer.serializeRequest(spans as never)
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers,
        body: body as Uint8Array<ArrayBuffer>,
        signal: AbortSignal.timeout(ANSWER_MS),
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
      const ids = waiting.slice(0, A_TIME)
      if (!(await send(ids))) {
        backoff = Math.min(Math.max(BACKOFF_MS, backoff * 2), MOST_BACKOFF_MS)
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
    timer ??= setTimeout(
      () => {
        timer = undefined
        void run()
      },
      Math.max(EVERY_MS, backoff),
    )
  }

  return {
    ended(call) {
      if (!traceOf(call, tracing).sampled) return
      if (waiting.length >= MOST_WAITING) {
        waiting.shift()
        dropped += 2 // a call's own and an attempt's, at least
      }
      waiting.push(call.id)
      later()
    },
    get dropped() {
      return dropped
    },
    async close() {
      clearTimeout(timer)
      if (waiting.length > 0)
        await Promise.race([run(), new Promise((resolve) => setTimeout(resolve, 1_000))])
      clearTimeout(timer)
    },
  }
}

interface KeptExchange {
  readonly request: { readonly body?: string }
  readonly answer: { readonly body?: string }
}

/** Requests and answers of a call's attempts, as its artifact holds them. */
function contentsIn(artifact: string | null): Content[] {
  if (artifact === null) return []
  const { exchanges } = JSON.parse(artifact) as { exchanges: KeptExchange[] }
  return exchanges.map(({ request, answer }) => ({
    request: request.body ?? null,
    answer: answer.body || null,
  }))
}
