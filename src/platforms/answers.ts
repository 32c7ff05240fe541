// All platforms by their names in the configuration, and the conversion of their answers to the dialect's format, between
// the connection and the readers.
import type { IncomingHttpHeaders } from 'node:http'
import type { Dispatcher } from 'undici'
import type { PLATFORM_NAMES } from '../config/schema.ts'
import type { Platform, StreamDecoder } from '../dialects/dialect.ts'
import { BytePieces } from '../shared/byte-pieces.ts'
import { bedrockPlatform } from './bedrock.ts'
import { vertexPlatform } from './vertex.ts'

export const PLATFORMS = { bedrock: bedrockPlatform, vertex: vertexPlatform } satisfies Record<
  (typeof PLATFORM_NAMES)[number],
  Platform
>

/** Maximum bytes of an error or a count. Longer answers are passed on unchanged. */
const MAX_WHOLE_BYTES = 2 ** 20

type Controller = Dispatcher.DispatchController

/** Returns an interceptor for the connections to a platform. */
export const answersOf =
  (platform: Platform): Dispatcher.DispatcherComposeInterceptor =>
  (dispatch) =>
  (options, handler) =>
    dispatch(options, new PlatformAnswer(platform, handler))

class PlatformAnswer implements Dispatcher.DispatchHandler {
  readonly #platform: Platform
  readonly #handler: Dispatcher.DispatchHandler
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #decoder: StreamDecoder | null = null
  /** Start of a short whole answer; null if the answer is passed on immediately. */
  #whole: BytePieces | null = null

  constructor(platform: Platform, handler: Dispatcher.DispatchHandler) {
    this.#platform = platform
    this.#handler = handler
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#handler.onRequestStart?.(controller, context)
  }

  onResponseStart(
    controller: Controller,
    status: number,
    headers: IncomingHttpHeaders,
    message?: string,
  ): void {
    this.#status = status
    this.#headers = headers
    if (status >= 200) {
      this.#decoder = (status < 300 && this.#platform.openStream?.(headers)) || null
      this.#whole =
        this.#decoder || /^text\/event-stream\b/i.test(headers['content-type'] ?? '')
          ? null
          : new BytePieces()
    }
    const named = this.#platform.headers?.(headers) ?? headers
    const { 'content-length': _, ...shown } = named
    const given = this.#decoder ? { ...shown, 'content-type': 'text/event-stream' } : shown
    this.#handler.onResponseStart?.(controller, status, given, message)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#decoder) {
      const events = this.#decoder.push(chunk)
      if (events.length > 0) this.#handler.onResponseData?.(controller, events)
    } else if (this.#whole && this.#whole.length + chunk.length <= MAX_WHOLE_BYTES) {
      this.#whole.add(chunk)
    } else {
      if (this.#whole) this.#handler.onResponseData?.(controller, this.#whole.joined())
      this.#whole = null
      this.#handler.onResponseData?.(controller, chunk)
    }
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    if (this.#whole) {
      const body = this.#whole.joined()
      const made = this.#platform.whole(this.#status, this.#headers, body.toString('utf8'))
      this.#handler.onResponseData?.(controller, made === null ? body : Buffer.from(made))
    }
    this.#handler.onResponseEnd?.(controller, trailers)
  }

  onResponseError(controller: Controller, error: Error): void {
    this.#handler.onResponseError?.(controller, error)
  }
}
