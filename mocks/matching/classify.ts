// Classifies a request to name its recording and to find it again. Import, recording and replay use the same
// function. Pure. Knows the mocks' endpoints, and typical requests to models for all other addresses. The
// result is redacted, so it may be written, and classifying it again gives the same result.

import { type Arrived, arrivedAt, endpointOf, type Wants } from '../provider.ts'
import { decoded, providers } from '../providers/registry.ts'
import { deploymentName, modelName, namesItsModels, redactPath } from '../redaction/paths.ts'
import type { MatchInput } from './match.ts'

interface ClassifiedRequest {
  /** Name of a mock, or `hostName` of the requested host. */
  readonly provider: string
  readonly method: string
  /** Path below the provider's base path, without the query, with or without a leading slash. */
  readonly path: string
  readonly body: string | null
  /** Body as parsed by its endpoint; default: the text as JSON. */
  readonly json?: unknown
  readonly query?: URLSearchParams
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Returns the criteria for the choice of recordings. The scenario follows from the request only, not from its
 * answer.
 */
export function classify(request: ClassifiedRequest): MatchInput & { readonly model: string | null } {
  const { provider, method, body } = request
  const path = request.path.replace(/^\/+/, '')
  const stand = providers.find(({ name }) => name === provider)
  const arrived = arrivedAt({
    ...{ method, path: decoded(path), rawPath: path, text: body ?? '', json: request.json ?? parse(body) },
    ...(request.query && { query: request.query }),
    ...(request.headers && { headers: request.headers }),
  })
  const found = stand && endpointOf(stand, method, arrived.path)
  const general = generalWants(arrived)
  const wants = found ? found.endpoint.wants(arrived, found.params) : general
  const named = wants.model ?? general.model
  const redacted = redactPath(arrived.path, provider)
  return {
    provider,
    method,
    endpoint: found?.endpoint.name ?? (redacted || '-'),
    path: redacted,
    model: named === null || named === '' ? null : nameAt(provider, named),
    stream: wants.stream,
    scenario: scenarioOf({ model: named, tools: wants.tools }),
  }
}

const nameAt = (provider: string, model: string): string =>
  namesItsModels(provider) ? deploymentName(model) : modelName(model)

const SCENARIO = /(?:^|\/)scenario-([\w-]+)$/

/**
 * Returns the scenario that a model id names: `scenario-NAME`, also after a prefix. A model id has `-` in place of the
 * other marks in the name of a deviation: `scenario-deviation-chat-NAME`.
 */
export const scenarioIn = (model: string | null): string | null =>
  SCENARIO.exec(model ?? '')?.[1]?.replace(/^deviation-([a-z]+)-/, 'deviation:$1/') ?? null

/** Returns the named scenario, otherwise the scenario that fits the turn. */
const scenarioOf = ({ model, tools }: Pick<Wants, 'model' | 'tools'>): string =>
  scenarioIn(model) ?? (tools ? 'tools' : 'plain')

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/**
 * Reads requests to unknown addresses: tries every dialect's fields for a model, a stream, tools and their
 * results.
 */
function generalWants({ method, path, json, text }: Arrived): Wants {
  const body = isObject(json) ? json : {}
  const names = [body.model, body.modelId, body.model_id, modelInPath(path), modelInForm(text)]
  const tools = [...list(body.tools), ...list(body.functions)]
  if (isObject(body.toolConfig)) tools.push(...list(body.toolConfig.tools))
  return {
    model: names.find((name): name is string => typeof name === 'string' && name !== '') ?? null,
    stream: method === 'POST' && (body.stream === true || /:stream|[-/](?:response-)?stream$/i.test(path)),
    usage: true,
    tools: tools.length > 0 && !hasToolResult(body),
  }
}

/** Returns the model in a path: Google and AWS have the model there, Azure the deployment. */
const modelInPath = (path: string): string | null =>
  /(?:^|\/)(?:models?|deployments|engines)\/(.+?)(?::[a-zA-Z]+)?(?:(?:\/v\d+)?\/(?:invoke|converse|chat|completions|embeddings|images|audio|responses|messages|predict|predictions|pipeline)(?:[-/].*)?)?$/.exec(
    path,
  )?.[1] ?? null

/** Returns the `model` field of a form with a file. */
const modelInForm = (text: string): string | null =>
  /\bname="model"\s*\r?\n\r?\n([^\r\n]{1,200})\r?\n--/.exec(text)?.[1] ?? null

/** Returns true if a request contains the result of a tool, in any dialect. */
export function hasToolResult(body: unknown): boolean {
  if (!isObject(body)) return false
  const turns = [...list(body.messages), ...list(body.input), ...list(body.contents)].filter(isObject)
  return turns.some(
    ({ role, type, content, parts }) =>
      role === 'tool' ||
      role === 'function' ||
      (typeof type === 'string' && /_call_output$/.test(type)) ||
      [...list(content), ...list(parts)].some(
        (part) =>
          isObject(part) &&
          (part.type === 'tool_result' || 'functionResponse' in part || 'toolResult' in part),
      ),
  )
}

function parse(text: string | null): unknown {
  try {
    return text ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}
