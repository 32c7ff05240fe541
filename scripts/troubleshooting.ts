// Every error code of the gateway -> a page that says what happened and what to do. Pure. A code without an entry does not
// compile.
import { CODES, type ErrorCode } from '../src/errors.ts'

interface Help {
  readonly happened: string
  readonly todo: string
}

const HELP: Readonly<Record<ErrorCode, Help>> = {
  invalid_json: {
    happened: 'The body of the request is not JSON.',
    todo: 'Send a JSON object. Look for a trailing comma, a missing quote, or a shell that took the quotes away.',
  },
  invalid_request: {
    happened:
      'A field of the request, or a parameter in the URL, has a wrong type or value. `param` names it.',
    todo: 'Correct that field. `/openapi.json` describes every parameter.',
  },
  dialect_not_spoken: {
    happened:
      'No target of this model can take a call in the dialect of this client, not even by translation.',
    todo: 'Ask for another model, or add a target whose provider has the dialect in its `api`.',
  },
  previous_response_not_found: {
    happened:
      'The call continues an earlier answer (`previous_response_id`), and the gateway does not know that answer, or no target of the route belongs to the provider that keeps it.',
    todo: 'Send the whole conversation instead. Records older than `retention` are gone, and other keys cannot see yours.',
  },
  translation_lossy: {
    happened:
      'The route has `on_loss: refuse`, and translating this request would lose something. The message names it.',
    todo: 'Leave those parts out, ask for a model that speaks the dialect of your client, or set `on_loss: allow`. [What each word means](losses.md).',
  },
  invalid_api_key: {
    happened: 'The gateway has keys, and the request brought none, or one that it does not know.',
    todo: 'Send a key of the gateway, not of a provider: `Authorization: Bearer …`, `x-api-key` or `x-goog-api-key`. `waybill key new NAME` makes one. Keys in URLs are refused, except where Google’s clients put them.',
  },
  forbidden: {
    happened:
      'The key is known, and may not do this: a client key asked for what only an admin may see, or the page’s token tried to make a call.',
    todo: 'Use an admin key (`role: admin`), or for calls a gateway key.',
  },
  host_not_allowed: {
    happened:
      'The request named a Host, or came from an Origin, that the gateway does not know. This protects you from web pages that call programs on your machine.',
    todo: 'If the name is yours, add it to `server.allowed_hosts`; if the page is yours, add its origin to `server.allowed_origins`.',
  },
  price_unknown: {
    happened:
      'The key has a budget, and the price of the model is not known, so the gateway cannot keep the budget.',
    todo: 'Set `models.PROVIDER/MODEL.price`, or `budget.unpriced: allow` for this key.',
  },
  model_not_found: {
    happened:
      'No route and no `provider/model` has this name; or the provider says that it has no such model.',
    todo: '`GET /v1/models` lists the names, `waybill routes` shows where they lead. For names that a coding agent asks for by itself, set `defaults`.',
  },
  not_found: {
    happened: 'Nothing is at this path, or no record has this id, or it belongs to another key.',
    todo: '`GET /openapi.json` lists all paths. Base URLs end in `/v1` for OpenAI’s clients and have no path for Anthropic’s.',
  },
  method_not_allowed: {
    happened: 'The path is there and does not take this method.',
    todo: 'Use one that the `Allow` header of the answer names.',
  },
  request_timeout: {
    happened: 'The client took too long to send its request.',
    todo: 'Look for a stalled client or network. `server.headers_timeout` and `server.request_timeout` set the limits.',
  },
  body_too_large: {
    happened: 'The body is larger than `server.body_limit`, or holds too many JSON values.',
    todo: 'Send less, for example smaller images, or raise `server.body_limit`.',
  },
  unsupported_media_type: {
    happened: 'The body is not sent as plain JSON.',
    todo: 'Send `Content-Type: application/json`, without compression.',
  },
  upgrade_refused: {
    happened: 'The client asked for a WebSocket.',
    todo: 'Nothing, if it is Codex: it goes on without. Otherwise send a POST.',
  },
  rate_limited: {
    happened: 'The key has made all the calls that its `rate` allows in this window.',
    todo: 'Wait for as long as `Retry-After` says, or raise the `rate` of the key. A 429 without this code is the provider’s own.',
  },
  budget_exceeded: {
    happened:
      'The key has spent its `budget`, or what is left of it is set aside for calls that are still open.',
    todo: '`GET /api/keys/me` shows what was spent and until when. Wait, or raise the budget.',
  },
  client_closed: {
    happened: 'The client left before it had its answer. Only the record says this.',
    todo: 'Look for a time-out in the client that is shorter than the answer takes.',
  },
  internal: {
    happened: 'The gateway itself failed. This is a mistake of ours.',
    todo: 'The process log says why under the request id. Please report it.',
  },
  upstream_unreachable: {
    happened: 'No provider of the route could be reached, or the connection broke before an answer came.',
    todo: 'Check `base_url`, the network and the provider’s status page. `waybill logs --json` lists each attempt with its reason.',
  },
  upstream_invalid: {
    happened:
      'The provider’s answer is not one: HTML, a redirect, an empty body, or bytes that are not HTTP.',
    todo: 'Check that `base_url` leads to the API (often `/v1` is missing) and not to a login page.',
  },
  upstream_refused: {
    happened:
      'The provider refused the key of the gateway (401, 402 or 403). Its words are not shown to clients, because they can hold parts of the key.',
    todo: 'Check the environment variable that `providers.NAME.key` names, and the credit at the provider.',
  },
  upstream_error: {
    happened:
      'The last provider of the route answered with an error in a dialect that is not the client’s. The status is the provider’s, the message quotes it.',
    todo: 'Do what the message says.',
  },
  log_unavailable: {
    happened: 'The record cannot be written or read. Without a record no call is made.',
    todo: 'The process log and `/readyz` say why: usually a full disk, a read-only directory or a missing file. `waybill doctor` looks at the same.',
  },
  overloaded: {
    happened: 'Too much at once: open calls, bytes of their bodies, reads or exports.',
    todo: 'Try again after `Retry-After`. `server.max_calls` and `server.max_body_bytes` set the limits.',
  },
  no_target_available: {
    happened:
      'No target of the route can take this call: its models lack tools, images, or a context that is long enough.',
    todo: 'Ask for another model, or correct `capabilities` and `context` under `models`.',
  },
  upstream_timeout: {
    happened: 'The provider did not answer in time, or fell silent in the middle of an answer.',
    todo: 'Try again. `resilience.stream_first_event`, `answer` and `idle` set the limits.',
  },
}

const HEAD = `# Errors, and what to do

<!-- Written by \`npm run docs\` from src/errors.ts and scripts/troubleshooting.ts. -->

Each error of the gateway has a code, a message that says what to do, and the id of the request:

\`\`\`json
{ "error": { "message": "…", "type": "invalid_request_error", "param": null, "code": "model_not_found" }, "request_id": "…" }
\`\`\`

Clients of Anthropic and Google get the same in their own shape. An error without one of these codes is the provider's own, passed on as it came. \`waybill doctor\` finds most causes by itself; \`GET /api/usage/refused-calls\` has the newest calls that were refused before they had a record.
`

export const troubleshootingPage = (): string =>
  `${[
    HEAD.trimEnd(),
    ...Object.entries(CODES).map(([code, [status]]) => {
      const { happened, todo } = HELP[code as ErrorCode]
      return `## ${code}\n\n**Status ${code === 'upstream_error' ? 'as the provider’s' : status}.** ${happened}\n\n**What to do:** ${todo}`
    }),
  ].join('\n\n')}\n`
