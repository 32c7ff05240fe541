// Reference pages of the documentation: a row for each setting, from the JSON Schema of the configuration; every command with
// its arguments, options and an example, from the command line itself; and every error code of the gateway with its cause and
// its remedy. A code without an entry does not compile.
import type { Command } from 'commander'
import { commandLine } from '../../src/commands/program.ts'
import { needsRestart } from '../../src/config/load.ts'
import { CODES, type ErrorCode } from '../../src/core/errors.ts'
import type { JsonSchema } from '../../src/yaml/wording.ts'

const SETTINGS_HEAD = `# Configuration

<!-- Written by \`npm run docs\` from src/config/schema.ts. -->

The gateway reads \`waybill.yaml\`, or the file that \`--config\` or \`WAYBILL_CONFIG\` names. \`waybill config check\` names every mistake with its line. [waybill.schema.json](waybill.schema.json) enables completion in an editor. [examples/waybill.yaml](../examples/waybill.yaml) is a file to start from; [examples/every-setting.yaml](../examples/every-setting.yaml) has every setting once.

A running gateway applies a changed file within a second. Settings marked *restart* take effect at the next start, and the process log says so. A file with a mistake has no effect, and the process log names the mistake.

A *duration* is a number and a unit, \`ms\`, \`s\`, \`m\` or \`h\`: \`5s\`. A *size* has \`B\`, \`KiB\`, \`MiB\` or \`GiB\`: \`20MiB\`. \`<name>\` stands for a name that you choose, \`[]\` for each entry of a list. \`required\` means that there is no default, and that the setting must be present if the mapping that contains it is present.
`

/** Returns the page. `example` is a file with every setting; its parts are shown above the tables. */
export const configurationPage = (schema: JsonSchema, example: string): string =>
  settingsPage(SETTINGS_HEAD, schema, { partOf: (name) => partOf(example, name), isFixed: needsRestart })

interface Extras {
  /** Returns the part of the example below this name. */
  readonly partOf: (name: string) => string
  readonly isFixed: (setting: string) => boolean
}

/** Returns the lines of one top-level setting in a YAML file. Throws if it is missing. */
function partOf(yaml: string, name: string): string {
  const [part] = new RegExp(`^${name}:.*(\\n[ -].*|\\n(?=[ -]))*`, 'm').exec(yaml) ?? []
  if (part === undefined) throw new Error(`the example has no ${name}`)
  return part
}

/** Throws if a setting has no description. */
export function settingsPage(head: string, schema: JsonSchema, extras?: Extras): string {
  const parts = Object.entries(schema.properties ?? {})
  const marked = (text: string) =>
    extras?.isFixed(/`([\w.]+)/.exec(text)![1]!) ? text.replace(/ \|$/, ' *Restart.* |') : text
  const single = parts.filter(([, part]) => rowsBelow('', part).length === 0)
  const groups = parts.filter(([, part]) => rowsBelow('', part).length > 0)
  const sections = groups.map(([name, part]) =>
    [
      `## ${name}`,
      described(name, part),
      ...(extras ? [`\`\`\`yaml\n${extras.partOf(name)}\n\`\`\``] : []),
      table(rowsBelow(name, part).map(marked)),
    ].join('\n\n'),
  )
  const top = single.map(([name, part]) => marked(row(name, part, schema)))
  return `${[head.trimEnd(), table(top), ...sections].join('\n\n')}\n`
}

const table = (rows: readonly string[]): string =>
  ['| setting | type | default | meaning |', '|---|---|---|---|', ...rows].join('\n')

/** Returns a row for each setting below this one. */
function rowsBelow(path: string, schema: JsonSchema): string[] {
  const entry = schema.items ?? (isSchema(schema.additionalProperties) ? schema.additionalProperties : null)
  if (entry) return rowsBelow(`${path}${schema.items ? '[]' : '.<name>'}`, entry)
  const rows = Object.entries(schema.properties ?? {}).flatMap(([name, part]) => {
    const below = `${path}.${name}`
    return [row(below, part, schema), ...rowsBelow(below, part)]
  })
  // A setting with several forms has the rows of each form.
  return [...rows, ...(schema.anyOf ?? []).flatMap((form) => rowsBelow(path, form))]
}

function row(path: string, part: JsonSchema, around: JsonSchema): string {
  const isRequired = around.required?.includes(path.slice(path.lastIndexOf('.') + 1))
  const standard =
    part.default === undefined
      ? isRequired
        ? 'required'
        : ''
      : plain(part.default) && `\`${plain(part.default)}\``
  return `| \`${path}\` | ${typeOf(part)} | ${standard} | ${described(path, part)} |`
}

/** Formats a default value as in the file; an empty text, list or mapping gives an empty string. */
const plain = (value: unknown): string =>
  typeof value === 'object' || value === '' ? '' : typeof value === 'string' ? value : JSON.stringify(value)

function described(path: string, { description }: JsonSchema): string {
  if (!description) throw new Error(`${path} has no description; describe it in the schema`)
  return description.replaceAll('|', '\\|')
}

function typeOf(part: JsonSchema): string {
  if (part.title) return part.title
  if (part.const !== undefined) return `\`${part.const}\``
  if (part.enum) return part.enum.map((value) => `\`${value}\``).join(', ')
  if (part.anyOf) return part.anyOf.map(typeOf).join(', or ')
  if (part.type === undefined) return 'anything'
  if (part.type === 'array')
    return part.items?.type === 'object'
      ? 'list of mappings'
      : `list of ${part.items ? typeOf(part.items).replace(/^(text|(?:whole )?number)\b/, '$1s') : 'anything'}`
  if (part.type === 'object') return 'mapping'
  if (part.type === 'boolean') return '`true` or `false`'
  if (part.type === 'string') return part.format === 'uri' ? 'address' : 'text'
  const { minimum, maximum, exclusiveMinimum } = part
  const from = minimum === undefined || minimum < -1e15 ? null : minimum
  const to = maximum === undefined || maximum > 1e15 ? null : maximum
  const bounds = [
    exclusiveMinimum !== undefined && `more than ${exclusiveMinimum}`,
    from !== null && (to === null ? `${from} or more` : `${from} to ${to}`),
  ].filter(Boolean)
  return [part.type === 'integer' ? 'whole number' : 'number', ...bounds].join(', ')
}

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null

/** Returns the sections of docs/command-line.md, in the order of `waybill --help`. */
export const commandsPage = (): string =>
  commandLine({})
    .commands.flatMap((command) => sectionsOf(command, 'waybill'))
    .join('\n\n')

/** Returns a command's sections; a command that only groups other commands has none. */
function sectionsOf(command: Command, above: string): string[] {
  const name = `${above} ${command.name()}`
  const below = command.commands.flatMap((each) => sectionsOf(each, name))
  return isGroup(command) ? below : [sectionOf(command, name), ...below]
}

/** Returns true if the command only groups other commands. */
const isGroup = (command: Command): boolean =>
  command.commands.length > 0 && command.registeredArguments.length === 0

function sectionOf(command: Command, name: string): string {
  const usage = [
    name,
    ...command.registeredArguments.map((each) => {
      const text = `${each.name()}${each.variadic ? '...' : ''}`
      return each.required ? `<${text}>` : `[${text}]`
    }),
  ].join(' ')
  const options = command.options.map(
    ({ flags, description, argChoices, defaultValue, mandatory }) =>
      `- \`${flags}\`: ${[
        description,
        ...(argChoices ? [`one of ${argChoices.join(', ')}`] : []),
        ...(mandatory ? ['required'] : []),
        ...(defaultValue === undefined ? [] : [`default: \`${defaultValue}\``]),
      ].join('; ')}`,
  )
  return [
    `### ${name}`,
    '',
    `\`${usage}\`: ${command.description()}.`,
    ...(options.length > 0 ? ['', ...options] : []),
    '',
    `For example \`${exampleOf(command)}\`.`,
  ].join('\n')
}

/** Returns the line below "Example:" in the command's help. */
function exampleOf(command: Command): string {
  let help = ''
  command.configureOutput({ writeOut: (part) => (help += part) }).outputHelp()
  const [, example] = /^Example:\n {2}\$ (.+)$/m.exec(help) ?? []
  if (example === undefined) throw new Error(`${command.name()} has no example in its help`)
  return example
}

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
    happened: 'A field of the request, or a parameter in the URL, has the wrong type or value: `param`.',
    todo: 'Correct that field. `/openapi.json` describes every parameter.',
  },
  dialect_not_spoken: {
    happened: 'No target of this model accepts calls in the client’s dialect, not even after translation.',
    todo: 'Request another model, or add a target with a provider that has the dialect under `dialect`.',
  },
  previous_response_not_found: {
    happened:
      'The gateway does not know the answer that the call continues (`previous_response_id`), or no target of the route belongs to the provider that keeps it.',
    todo: 'Send the whole conversation instead. Records older than `retention` are gone, and no key can see the records of another key.',
  },
  state_provider_unknown: {
    happened:
      'The request names an object that a single provider keeps (a file, a container, a stored prompt), which the gateway does not know, and the route has several providers, or not the right one.',
    todo: 'Request `provider/model` instead of the route, or send the content itself. The contract lists [the objects that providers keep](contract.md#configuration).',
  },
  thread_not_found: {
    happened:
      'The gateway does not know the last message of the thread that the call continues, or no target of the route belongs to the provider that has it.',
    todo: 'Nothing: Anthropic’s clients then send the whole conversation. Your own program can do the same, with `thread: {"type": "create"}`.',
  },
  thread_unsupported_request: {
    happened: 'The call requests a thread, but no target of the model speaks Anthropic’s messages.',
    todo: 'Nothing for a tool runner, which continues without threads. For `client.beta.messages.thread(…)`, set `unsupported_request_behavior` to `continue_unthreaded`, or request a model of a provider that speaks messages.',
  },
  translation_lossy: {
    happened: 'The route has `on_loss: refuse`, and a translation would lose what the message names.',
    todo: 'Remove those parts, request a model that speaks the dialect of your client, or set `on_loss: allow`. [Losses](losses.md) explains each word.',
  },
  invalid_api_key: {
    happened: 'Keys are configured, and the request has no key or an unknown key.',
    todo: 'Send a gateway key, not a provider key: `Authorization: Bearer …`, `x-api-key` or `x-goog-api-key`. `waybill key new NAME` creates one. Keys in URLs are refused, except at the place where Google’s clients put them.',
  },
  forbidden: {
    happened:
      'A client key requested data that only an admin may see, or the page’s token tried to make a call.',
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
      'The provider refused the key or the account of the gateway: 401, 402 or 403, or another status with words about credit, a spend limit, a disabled account or the region. Its message is shown only if no client keys are configured; otherwise, an admin reads it in the record (`refusal` of the attempt). That of a 401 is never shown, because it can contain parts of the key.',
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

const ERRORS_HEAD = `# Errors, and what to do

<!-- Written by \`npm run docs\` from src/core/errors.ts and scripts/docs/reference.ts. -->

Each gateway error has a code, a message that says what to do, and the id of the request:

\`\`\`json
{ "error": { "message": "…", "type": "invalid_request_error", "param": null, "code": "model_not_found" }, "request_id": "…" }
\`\`\`

Clients of Anthropic and Google get the same in their own format. An error without one of these codes comes from the provider and is passed on unchanged. \`waybill doctor\` finds most causes by itself; \`GET /api/usage/refused-calls\` lists the newest calls that were refused before they had a record.
`

export const troubleshootingPage = (): string =>
  `${[
    ERRORS_HEAD.trimEnd(),
    ...Object.entries(CODES).map(([code, [status]]) => {
      const { happened, todo } = HELP[code as ErrorCode]
      return `## ${code}\n\n**Status ${code === 'upstream_error' ? 'as the provider’s' : status}.** ${happened}\n\n**What to do:** ${todo}`
    }),
  ].join('\n\n')}\n`
