// Claude through Amazon Bedrock's InvokeModel. The path holds the model, the body holds betas, and streams
// have AWS's event stream format. Format: Amazon Bedrock API reference, "InvokeModelWithResponseStream",
// "CountTokens".
import { isObject, textOf } from '../dialects/json.ts'
import type { Platform } from '../dialects/platform.ts'
import { omitMembers, spliceMembers } from '../json/splice.ts'
import { EventStreamDecoder } from './event-stream.ts'
import { type ErrorType, messagesError, messagesRequest } from './messages.ts'

const VERSION = JSON.stringify('bedrock-2023-05-31')
const EVENT_STREAM = 'application/vnd.amazon.eventstream'

export const bedrockPlatform = {
  place(request) {
    const { base, model, stream, isCount, version, betas, body, headers } = messagesRequest(request)
    const operation = isCount ? 'count-tokens' : stream ? 'invoke-with-response-stream' : 'invoke'
    const placed = spliceMembers(withoutStream(body), {
      anthropic_version: (before) => before ?? version ?? VERSION,
      ...(betas.length > 0 && { anthropic_beta: (before?: string) => before ?? JSON.stringify(betas) }),
    })
    return {
      path: `${base}/model/${encodeURIComponent(model)}/${operation}`,
      headers: headers.map((value) => (value === 'text/event-stream' ? EVENT_STREAM : value)),
      body: isCount ? counted(placed) : placed,
    }
  },

  headers: (headers) => ({ ...headers, 'request-id': headers['x-amzn-requestid'] as string | undefined }),

  openStream: (headers) =>
    headers['content-type']?.startsWith(EVENT_STREAM) ? new EventStreamDecoder(eventOf) : null,

  // ModelErrorException, which means that the model itself failed.
  movesOn: [424],

  whole(status, headers, text) {
    const json = parsed(text)
    if (status < 400)
      return typeof json.inputTokens === 'number' ? JSON.stringify({ input_tokens: json.inputTokens }) : null
    const message = json.message ?? json.Message
    return typeof message === 'string'
      ? messagesError(typeOf(String(headers['x-amzn-errortype'] ?? ''), status), message)
      : null
  },
} satisfies Platform

const withoutStream = (body: string): string => omitMembers(body, [['stream']])

/** Wraps a request for counting its tokens. Bedrock counts only requests that InvokeModel would accept. */
const counted = (body: string): string => {
  const complete = spliceMembers(body, { max_tokens: (before) => before ?? '1' })
  return JSON.stringify({ input: { invokeModel: { body: Buffer.from(complete).toString('base64') } } })
}

/** Converts a message to a server-sent event. A message is an exception or a part of the answer in base64. */
function eventOf(headers: ReadonlyMap<string, string>, body: Buffer): string {
  const json = parsed(body.toString('utf8'))
  const exception = headers.get(':exception-type') ?? headers.get(':error-code')
  if (exception !== undefined) {
    const message = json.message ?? headers.get(':error-message') ?? exception
    return `event: error\ndata: ${messagesError(typeOf(exception, 500), textOf(message))}\n\n`
  }
  if (typeof json.bytes !== 'string') return ''
  const data = Buffer.from(json.bytes, 'base64').toString('utf8')
  return `event: ${parsed(data).type}\ndata: ${data}\n\n`
}

/** Error types by AWS's names without `Exception`. In streams the names begin with a small letter. */
const TYPES: Readonly<Record<string, ErrorType>> = {
  validation: 'invalid_request_error',
  accessdenied: 'permission_error',
  expiredtoken: 'authentication_error',
  unrecognizedclient: 'authentication_error',
  invalidsignature: 'authentication_error',
  incompletesignature: 'authentication_error',
  missingauthenticationtoken: 'authentication_error',
  resourcenotfound: 'not_found_error',
  throttling: 'rate_limit_error',
  servicequotaexceeded: 'rate_limit_error',
  modelnotready: 'overloaded_error',
  serviceunavailable: 'overloaded_error',
  modeltimeout: 'timeout_error',
  modelerror: 'api_error',
}

function typeOf(exception: string, status: number): ErrorType {
  const [name = ''] = exception.split(':', 1)
  const other = status < 500 ? 'invalid_request_error' : 'api_error'
  return TYPES[name.replace(/Exception$/, '').toLowerCase()] ?? other
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(text)
    return isObject(json) ? json : {}
  } catch {
    return {}
  }
}
