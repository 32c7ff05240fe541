// Writes a page that explains every error code of the gateway: its cause and its remedy. Pure. A code without
// an entry does not compile.
import { CODES, type ErrorCode } from '../../src/core/errors.ts'

interface Help {
  readonly happened: string
  readonly todo: string
}

const HELP: Readonly<Record<ErrorCode, Help>> = {
  invalid_json: {
    happened: 'The body of the request is not JSON.',
    todo: 'Send a JSON object. Look for a trailing comma, a missing quote, or a shell that removed the quotes.',
  },
  invalid_request: {
    happened:
      'A field of the request, or a parameter in the URL, has the wrong type or value. `param` names it.',
    todo: 'Correct that field. `/openapi.json` describes every parameter.',
  },
  dialect_not_spoken: {
    happened: 'No target of this model accepts calls in the client’s dialect, not even after translation.',
    todo: 'Request another model, or add a target with a provider that has the dialect under `dialect`.',
  },
  previous_response_not_found: {
    happened:
      'The call continues an earlier answer (`previous_response_id`). The gateway does not know that answer, or no target of the route belongs to the provider that keeps it.',
    todo: 'Send the whole conversation instead. Records older than `retention` are gone, and no key can see the records of another key.',
  },
  state_provider_unknown: {
    happened:
      'The request names an object that a single provider keeps (a file, a container, a stored prompt). The gateway does not know this provider, and the route has several providers, or not the right one.',
    todo: 'Request `provider/model` instead of the route, or send the content itself. The contract lists [the objects that providers keep](contract.md#configuration).',
  },
  thread_not_found: {
    happened:
      'The call continues one of Anthropic’s threads. The gateway does not know the last message of the thread, or no target of the route belongs to the provider that has it.',
    todo: 'Nothing: Anthropic’s clients then send the whole conversation. Your own program can do the same, with `thread: {"type": "create"}`.',
  },
  thread_unsupported_request: {
    happened: 'The call requests a thread, but no target of the model speaks Anthropic’s messages.',
    todo: 'Nothing for a tool runner, which continues without threads. For `client.beta.messages.thread(…)`, set `unsupported_request_behavior` to `continue_unthreaded`, or request a model of a provider that speaks messages.',
  },
  translation_lossy: {
    happened:
      'The route has `on_loss: refuse`, and translating this request would lose something. The message names it.',
    todo: 'Remove those parts, request a model that speaks the dialect of your client, or set `on_loss: allow`. [Losses](losses.md) explains each word.',
  },
  invalid_api_key: {
    happened: 'Keys are configured, and the request has no key or an unknown key.',
    todo: 'Send a gateway key, not a provider key: `Authorization: Bearer …`, `x-api-key` or `x-goog-api-key`. `waybill key new NAME` creates one. Keys in URLs are refused, except at the place where Google’s clients put them.',
  },
  forbidden: {
    happened:
      'The key is known, but may not do this: a client key requested data that only an admin may see, or the page’s token tried to make a call.',
    todo: 'Use an admin key (`role: admin`). For calls, use a gateway key.',
  },
  host_not_allowed: {
    happened:
      'The request has a `Host` or an `Origin` that the gateway does not allow. This protects you from web pages that call programs on your machine.',
    todo: 'If the name is yours, add it to `server.allowed_hosts`; if the page is yours, add its origin to `server.allowed_origins`.',
  },
  price_unknown: {
    happened:
      'The key has a budget, but the price of the model is not known, so the gateway cannot enforce the budget.',
    todo: 'Write the line that the message gives under `models`, with the prices of a million tokens in US dollars, or set `budget.unpriced: allow` for this key. `waybill models prices` lists the known prices.',
  },
  model_not_found: {
    happened:
      'No route and no `provider/model` has this name, or the provider reports that it does not have this model.',
    todo: '`GET /v1/models` lists the names, and `waybill routes` shows their targets. For names that a coding agent requests on its own, set `defaults`.',
  },
  not_found: {
    happened:
      'There is nothing at this path, no record has this id, or the record belongs to another key. Or the request names a file, batch, container, conversation or cached content that no call of this key made.',
    todo: '`GET /openapi.json` lists all paths. Base URLs end in `/v1` for OpenAI’s clients, and have no path for Anthropic’s clients. For files that were made outside the gateway, set [`unknown_objects: relay`](configuration.md), or use an administrator’s key.',
  },
  method_not_allowed: {
    happened: 'The path exists, but does not accept this method.',
    todo: 'Use a method that the `Allow` header of the answer lists.',
  },
  request_timeout: {
    happened: 'The client took too long to send its request.',
    todo: 'Look for a stalled client or network. `server.headers_timeout` and `server.request_timeout` set the limits.',
  },
  body_too_large: {
    happened: 'The body is larger than `server.body_limit`, or contains too many JSON values.',
    todo: 'Send less, for example smaller images, or raise `server.body_limit`.',
  },
  unsupported_media_type: {
    happened: 'The body was not sent as JSON, or in a compression that the gateway does not decode.',
    todo: 'Send `Content-Type: application/json`. A compressed body may be in gzip, deflate, br or zstd.',
  },
  upgrade_refused: {
    happened:
      'The client requested a WebSocket, but `responses.websocket` is `off`, or `responses.max_sockets` are open.',
    todo: 'If the client is Codex, nothing: it continues without a WebSocket. Otherwise send a POST, or change the setting.',
  },
  rate_limited: {
    happened: 'The key has made all the calls that its `rate` allows in this window.',
    todo: 'Wait for the time in `Retry-After`, or raise the `rate` of the key. A 429 without this code comes from the provider.',
  },
  budget_exceeded: {
    happened: 'The key has spent its `budget`, or the rest is set aside for calls that are still open.',
    todo: '`GET /api/keys/me` shows how much was spent and when the budget resets. Wait, or raise the budget.',
  },
  client_closed: {
    happened:
      'The client disconnected before it had received its answer. This code appears only in the record.',
    todo: 'Look for a time-out in the client that is too short for the answer.',
  },
  internal: {
    happened: 'The gateway itself failed. This is a bug in Waybill.',
    todo: 'The process log gives the reason with the request id. Please report the bug.',
  },
  upstream_unreachable: {
    happened: 'No provider of the route could be reached, or the connection broke before an answer arrived.',
    todo: 'Check `base_url`, the network and the provider’s status page. `waybill logs --json` lists each attempt with its reason.',
  },
  upstream_invalid: {
    happened:
      'The provider’s answer cannot be used: HTML, a redirect, an empty body, or bytes that are not HTTP.',
    todo: 'Check that `base_url` is the address of the API (often `/v1` is missing) and not of a login page.',
  },
  upstream_refused: {
    happened:
      'The provider refused the key or the account of the gateway: 401, 402 or 403, or another status with words about credit, a spend limit, a disabled account or the region. The message of a 401 is not shown, because it can contain parts of the key. Other messages are shown only if no client keys are configured; otherwise, an admin reads them in the record (`refusal` of the attempt).',
    todo: 'Check the environment variable that `providers.NAME.key` names, and your account at the provider: its credit, its limits and its settings.',
  },
  upstream_error: {
    happened:
      'The last provider of the route answered with an error in a dialect that is not the client’s. The status is the provider’s; the message quotes the error.',
    todo: 'Do what the message says.',
  },
  response_unreadable: {
    happened: 'A stored response cannot be decrypted: the key has changed, or its row is damaged.',
    todo: 'The operator can set `responses.store.key` back to the earlier key. Otherwise send the whole conversation. `DELETE` still removes the response.',
  },
  log_unavailable: {
    happened: 'The record cannot be written or read. The gateway makes no call without a record.',
    todo: 'The process log and `/readyz` say why: usually a full disk, a read-only directory or a missing file. `waybill doctor` checks the same things.',
  },
  overloaded: {
    happened:
      'There are too many open calls, simultaneous reads or exports, or the memory that callers may use is full.',
    todo: 'Try again after `Retry-After`. `server.max_calls` and `server.memory` set the limits.',
  },
  no_target_available: {
    happened:
      'No target of the route can serve this call: the models lack tools, images, or a long enough context.',
    todo: 'Request another model, or correct `capabilities` and `context` under `models`.',
  },
  upstream_timeout: {
    happened: 'The provider did not answer in time, or stopped sending in the middle of an answer.',
    todo: 'Try again. `resilience.stream_first_event`, `answer` and `idle` set the limits.',
  },
}

const HEAD = `# Errors, and what to do

<!-- Written by \`npm run docs\` from src/core/errors.ts and scripts/docs/troubleshooting.ts. -->

Each gateway error has a code, a message that says what to do, and the id of the request:

\`\`\`json
{ "error": { "message": "…", "type": "invalid_request_error", "param": null, "code": "model_not_found" }, "request_id": "…" }
\`\`\`

Clients of Anthropic and Google get the same information in their own format. An error without one of these codes comes from the provider and is passed on unchanged. \`waybill doctor\` finds most causes by itself; \`GET /api/usage/refused-calls\` lists the newest calls that were refused before they had a record.
`

export const troubleshootingPage = (): string =>
  `${[
    HEAD.trimEnd(),
    ...Object.entries(CODES).map(([code, [status]]) => {
      const { happened, todo } = HELP[code as ErrorCode]
      return `## ${code}\n\n**Status ${code === 'upstream_error' ? 'as the provider’s' : status}.** ${happened}\n\n**What to do:** ${todo}`
    }),
  ].join('\n\n')}\n`
