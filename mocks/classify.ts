// What a request is when its recording is named and when it is looked for: ONE answer for import, recording and replay.
// Pure. Knows the stand-ins' endpoints and, for any other address, what requests to models look like. What it returns
// is redacted: it may be written, and classifying what was written gives the same result.
import type { MatchInput } from './match.ts'
import { deploymentName, modelName, namesItsModels, redactPath } from './paths.ts'
import { type Arrived, endpointOf, type Wants } from './provider.ts'
import { providers } from './providers.ts'

export interface Request {
  /** A stand-in's name, or `hostName` of the host that was asked. */
  readonly provider: string
  readonly method: string
  /** Below the provider's base path, without the query, with or without a slash in front. */
  readonly path: string
  readonly body: string | null
  readonly query?: URLSearchParams
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
}

/** In the words that recordings are chosen by. The scenario is what the request asks for, whatever it got. */
export function classify(request: Request): MatchInput & { readonly model: string | null } {
  const { provider, method, body } = request
  const path = request.path.replace(/^\/+/, '')
  const stand = providers.find(({ name }) => name === provider)
  const arrived: Arrived = {
    method,
    path: decoded(path),
    query: request.query ?? new URLSearchParams(),
    headers: request.headers ?? {},
    text: body ?? '',
    json: parse(body),
  }
  const found = stand && endpointOf(stand, method, arrived.path)
  const general = generalWants(arrived)
  const wants = found ? found.endpoint.wants(arrived, found.params) : general
  const named = wants.model ?? general.model
  return {
    provider,
    method,
    endpoint: found?.endpoint.name ?? (redactPath(path, provider) || '-'),
    model: named === null || named === '' ? null : nameAt(provider, named),
    stream: wants.stream,
    scenario: scenarioOf({ model: named, tools: wants.tools }),
  }
}

const nameAt = (provider: string, model: string): string =>
  namesItsModels(provider) ? deploymentName(model) : modelName(model)

const SCENARIO = /(?:^|\/)scenario-([\w-]+)$/

/** The scenario that a model id asks for by its name: `scenario-NAME`, also behind a prefix. */
export const scenarioIn = (model: string | null): string | null => SCENARIO.exec(model ?? '')?.[1] ?? null

/** That one, or else the one that the turn needs. */
export const scenarioOf = ({ model, tools }: Pick<Wants, 'model' | 'tools'>): string =>
  scenarioIn(model) ?? (tools ? 'tools' : 'plain')

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** What is asked for where no stand-in knows: every dialect's way of naming a model, a stream, tools and their results. */
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

/** Google and AWS name the model in the path, Azure the deployment. */
const modelInPath = (path: string): string | null =>
  /(?:^|\/)(?:models?|deployments|engines)\/(.+?)(?::[a-zA-Z]+)?(?:\/(?:invoke|converse|chat|completions|embeddings|images|audio|responses|messages|predict)(?:[-/].*)?)?$/.exec(
    path,
  )?.[1] ?? null

/** A form that carries a file carries its model as a field. */
const modelInForm = (text: string): string | null =>
  /\bname="model"\s*\r?\n\r?\n([^\r\n]{1,200})\r?\n--/.exec(text)?.[1] ?? null

function hasToolResult(body: Json): boolean {
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

/** A model's name in a path may come encoded. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
