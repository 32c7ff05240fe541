// Passes a provider's stream on to the client, event by event and byte for byte, and notes on the way what it
// says. Withholds the usage event that only the gateway asked for; makes a cut stream visible as an error.
import type { ServerResponse } from 'node:http'
import type { EventStream, ParsedEvent, ProviderError, StreamEnd, Tokens } from '../call.ts'
import { type ErrorCode, GatewayError } from '../errors.ts'
import { type Mask, maskBody } from '../redact.ts'
import { delivered } from './reply.ts'

export interface RelayOptions {
  /** The client did not ask for usage, so an event that holds nothing else is not passed on. */
  readonly withholdUsage: boolean
  /** Takes out what must not reach the client, should the provider repeat it in an error. */
  readonly mask: Mask
  /** How an event is to be sent that is no error; as it came by default. */
  readonly rewrite?: ((bytes: Buffer, parsed: ParsedEvent) => Buffer) | undefined
  /** A client that takes nothing for this long is given up, ms. */
  readonly idle: number
  readonly requestId: string
  /** Hears of every event of the stream, also of one that is withheld. */
  readonly onEvent: (bytes: Buffer, parsed: ParsedEvent) => void
}

/** What the stream said, and how it ended. */
export interface RelayResult {
  readonly state: 'completed' | 'failed' | 'aborted'
  readonly errorCode: string | null
  readonly model: string | null
  readonly tokens: Tokens | null
}

const BROKEN: Record<Exclude<StreamEnd, 'aborted'>, [ErrorCode, string]> = {
  ended: ['upstream_invalid', 'The provider ended its stream before the answer was finished.'],
  cut: ['upstream_unreachable', 'The connection to the provider broke before the answer was finished.'],
  timed_out: ['upstream_timeout', 'The provider fell silent before the answer was finished.'],
}

/**
 * The response headers must have been written. Resolves when the client has the whole stream or has gone, and as soon as a
 * stream has failed. Never rejects.
 */
export async function relayStream(
  response: ServerResponse,
  stream: EventStream,
  options: RelayOptions,
): Promise<RelayResult> {
  const result = await pump(response, stream, options)
  if (result.state !== 'completed' || (await delivered(response, options.idle))) return result
  return { ...result, state: 'aborted', errorCode: 'client_closed' }
}

function pump(
  response: ServerResponse,
  stream: EventStream,
  { withholdUsage, mask, rewrite = asItCame, idle, requestId, onEvent }: RelayOptions,
): Promise<RelayResult> {
  const { promise, resolve } = Promise.withResolvers<RelayResult>()
  let model: string | null = null
  let tokens: Tokens | null = null
  let error: ProviderError | null = null
  let finished = false
  let over = false

  const finish = (state: RelayResult['state'], errorCode: string | null) => {
    over = true
    response.off('drain', goOn)
    resolve({ state, errorCode, model, tokens })
  }
  const note = (parsed: ParsedEvent) => {
    model ??= parsed.model
    tokens = parsed.tokens ?? tokens
    error ??= parsed.error
    finished ||= parsed.finished
  }
  const goOn = () => {
    response.setTimeout(0)
    stream.resume()
  }
  response.on('drain', goOn)
  response.on('timeout', () => response.destroy()) // armed while the client takes nothing

  stream.flow({
    event(bytes, parsed) {
      if (over) return true // nothing follows the end mark
      note(parsed)
      const shown = parsed.error
        ? Buffer.from(maskBody(bytes.toString('utf8'), mask))
        : rewrite(bytes, parsed)
      onEvent(shown, parsed)
      if (parsed.usageOnly && withholdUsage) return true
      const room = response.write(shown)
      if (parsed.done) {
        response.end()
        finish(error ? 'failed' : 'completed', error && codeOf(error))
        stream.resume() // what may still come is read and dropped, so that the connection can be used again
        return true
      }
      if (!room) response.setTimeout(idle)
      return room
    },
    end(how) {
      if (over) return
      if (how === 'aborted') return finish('aborted', 'client_closed')
      if (error || (how === 'ended' && finished)) {
        response.end()
        return finish(error ? 'failed' : 'completed', error && codeOf(error))
      }
      const [code, message] = BROKEN[how]
      // The event tells clients that read errors, the missing end of the body tells all others.
      response.setTimeout(idle)
      response.write(`data: ${new GatewayError(code, message).body(requestId)}\n\n`, () => response.destroy())
      finish('failed', code)
    },
  })
  return promise
}

const asItCame = (bytes: Buffer): Buffer => bytes

const codeOf = (error: ProviderError): string => error.code ?? 'upstream_error'
