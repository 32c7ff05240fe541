// Observes the traffic between a client and a provider and stores a redacted recording of each exchange, with
// chunks and timing of the answer. Knows undici's dispatch. Does not change the traffic.
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import { createMask } from '../../src/shared/redact.ts'
import { decompress } from '../import/interaction.ts'
import { providers } from '../providers/registry.ts'
import { type Blanked, chunksByEvent, draftRecording, type Keep, writeRecording } from './make.ts'

export interface RecorderOptions {
  readonly provider: string
  /** Provider's base URL; requests to other addresses are not recorded. */
  readonly baseUrl: string
  /** Directory for the recordings. */
  readonly out: string
  /** Scenario; derived from each exchange if absent. */
  readonly scenario?: string | undefined
  /** Keys and planted texts that no recording may contain. */
  readonly secrets: readonly string[]
  /** Setting that stores answers in full and requests as digests. If absent, the text of both is blanked. */
  readonly keep?: Omit<Keep, 'at'> | undefined
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Called with the name of each recording, and with what was blanked in its kept answer. */
  readonly onRecorded: (name: string, blanked: Blanked) => void
  /** Called with an exchange that was not recorded, and the reason in one line. */
  readonly onRefused: (reason: string) => void
}

/**
 * Returns an interceptor for `dispatcher.compose`. It must be the interceptor closest to the socket, where
 * the bytes are unchanged.
 */
export function createRecorder(options: RecorderOptions): Dispatcher.DispatcherComposeInterceptor {
  const { origin, pathname } = new URL(options.baseUrl)
  const basePath = pathname.replace(/\/+$/, '')
  return (dispatch) => (request, handler) => {
    const isOurs = String(request.origin) === origin && request.path.startsWith(`${basePath}/`)
    return dispatch(request, isOurs ? new Watched(request, handler, options, basePath) : handler)
  }
}

type Handler = Required<Dispatcher.DispatchHandler>

/** Exchange under observation. Errors here are reported and do not affect the exchange. */
class Watched implements Dispatcher.DispatchHandler {
  readonly #request: Dispatcher.DispatchOptions
  readonly #handler: Dispatcher.DispatchHandler
  readonly #options: RecorderOptions
  readonly #basePath: string
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #last: number
  readonly #at: number
  readonly #pieces: Buffer[] = []
  readonly #chunks: [number, number][] = []

  constructor(
    request: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    options: RecorderOptions,
    basePath: string,
  ) {
    this.#request = request
    this.#handler = handler
    this.#options = options
    this.#basePath = basePath
    this.#at = options.now()
    this.#last = this.#at
  }

  onRequestStart(...args: Parameters<Handler['onRequestStart']>): void {
    this.#last = this.#options.now()
    this.#handler.onRequestStart?.(...args)
  }

  onRequestUpgrade(...args: Parameters<Handler['onRequestUpgrade']>): void {
    this.#handler.onRequestUpgrade?.(...args)
  }

  onResponseStart(...args: Parameters<Handler['onResponseStart']>): void {
    this.#status = args[1]
    this.#headers = args[2]
    this.#handler.onResponseStart?.(...args)
  }

  onResponseData(...args: Parameters<Handler['onResponseData']>): void {
    const chunk = args[1]
    const now = this.#options.now()
    this.#pieces.push(Buffer.from(chunk)) // a copy: the socket's buffer may be reused
    this.#chunks.push([chunk.length, now - this.#last])
    this.#last = now
    this.#handler.onResponseData?.(...args)
  }

  onResponseEnd(...args: Parameters<Handler['onResponseEnd']>): void {
    this.#handler.onResponseEnd?.(...args)
    this.#keep()
  }

  onResponseError(...args: Parameters<Handler['onResponseError']>): void {
    this.#refuse('it broke off')
    this.#handler.onResponseError?.(...args)
  }

  #keep(): void {
    const { provider, out, scenario, secrets, keep, now, onRecorded } = this.#options
    try {
      const { origin, path, method, headers, body } = this.#request
      const responseHeaders = flat(this.#headers)
      const encoding = responseHeaders['content-encoding'] ?? 'identity'
      const raw = Buffer.concat(this.#pieces)
      const responseBody = decompress(raw, responseHeaders)
      const cameAsItIs = responseBody === raw
      const exchange = {
        url: `${origin}${path}`,
        host: new URL(String(origin)).host,
        path: path.split('?')[0]!,
        method,
        requestHeaders: flat(headers),
        requestBody: typeof body === 'string' || Buffer.isBuffer(body) ? String(body) : null,
        status: this.#status,
        responseHeaders,
        responseBody,
      }
      const draft = draftRecording(exchange, {
        provider,
        basePath: this.#basePath,
        chunks: cameAsItIs ? this.#chunks : chunksByEvent(responseBody),
        date: new Date(now()).toISOString().slice(0, 10),
        apiVersion: apiVersionOf(exchange),
        shape: `a live exchange with ${publicHost(String(origin)) ?? provider}`,
        ...(!cameAsItIs && {
          note: `It came compressed (${encoding}); chunks and pace are not the provider's.`,
        }),
        ...(scenario !== undefined && { scenario }),
        secrets,
        keep: keep && { ...keep, at: this.#at },
      })
      onRecorded(writeRecording(out, draft), draft.head.redaction?.blanked ?? {})
    } catch (error) {
      this.#refuse((error as Error).message)
    }
  }

  #refuse(reason: string): void {
    const { method, path } = this.#request
    const line = `${method} ${path.split('?')[0]}, status ${this.#status || 'none'}: ${reason}`
    this.#options.onRefused(createMask(this.#options.secrets)(line))
  }
}

/** Returns headers with lower-case names; undici accepts objects, lists of pairs and flat lists. */
function flat(headers: Dispatcher.DispatchOptions['headers'] | IncomingHttpHeaders): Record<string, string> {
  const list: readonly unknown[] = Array.isArray(headers) ? headers : Object.entries(headers ?? {}).flat(1)
  const pairs: Record<string, string> = {}
  for (let i = 0; i + 1 < list.length; i += 2)
    if (list[i + 1] != null) pairs[String(list[i]).toLowerCase()] = String(list[i + 1])
  return pairs
}

/** Returns a provider's host if all users share it; null if the host could name its owner. */
const publicHost = (origin: string): string | null =>
  providers.some((one) => one.origin === origin && !one.origins) ? new URL(origin).hostname : null

/**
 * Returns the API version from the request's headers or query, or else from the first version-like segment of
 * the path.
 */
export function apiVersionOf({
  url,
  path,
  requestHeaders,
}: {
  readonly url: string
  readonly path: string
  readonly requestHeaders: Readonly<Record<string, string>>
}): string {
  const asked =
    requestHeaders['anthropic-version'] ?? new URLSearchParams(url.split('?')[1]).get('api-version')
  if (asked && /^[\w.-]{1,30}$/.test(asked)) return asked
  return /\/(v\d\w*)(?=\/)/.exec(path)?.[1] ?? 'not named'
}
