// Chooses the answer to a request: a script, a recording, or a scenario, in this order. Pure; the caller
// passes the script for this turn. A scenario that the request does not name is played only if made-up
// answers are allowed.

import { hash } from 'node:crypto'
import { bytesOf, type MockAnswer, type Part, wholeAnswer } from '../answer.ts'
import { EVENT_STREAM_TYPE } from '../dialects/aws.ts'
import type { Asked, createMatcher, Miss } from '../matching/match.ts'
import {
  type Endpoint,
  event,
  type MockProvider,
  type ModelOutput,
  type ProviderRefusal,
  type ToolCall,
  type Wants,
} from '../provider.ts'
import type { Recording } from '../recording/format.ts'
import { answerFrom, type Pace } from '../recording/replay.ts'
import { outputForAgent } from '../scenarios/coding-agent.ts'
import { type OfferedTool, offeredTools, sampleOf, wantedJson } from '../scenarios/offered-tools.ts'
import { findScenario } from '../scenarios/registry.ts'
import { refuseLike, type Scene, say, speak } from '../scenarios/scenario.ts'
import type { ParsedAnswer } from './script.ts'

/** Parts of a request that determine the choice of its answer. */
export interface MatchRequest {
  readonly provider: MockProvider
  readonly endpoint: Endpoint | null
  readonly method: string
  readonly path: string
  readonly wants: Wants
  /** Body as JSON; undefined if it is not JSON. */
  readonly body: unknown
  /** Tools that the request offers, if this turn may call one. */
  readonly offered: readonly OfferedTool[]
  readonly scenario: string
  /** True if the model id or a script names the scenario. */
  readonly named: boolean
  /** Criteria for the request's recording. */
  readonly criteria: Asked
  /** Address without the query, which may contain a key. */
  readonly address: string
}

export interface Stock {
  /** Returns the recording of this turn, or the nearest recording. */
  readonly find: ReturnType<typeof createMatcher>
  /** Returns true if a recording answers. Takes no turn of it. */
  readonly holds: (asked: Asked) => boolean
  readonly pace: Pace
  /** True if missing answers are made up. */
  readonly invent: boolean
  /** Folder of the recordings, for messages; null if they have none. */
  readonly folder: string | null
}

/** Returns the answer, or a 400 that names the nearest recording (REC-02). */
export function pickAnswer(asked: MatchRequest, scripted: ParsedAnswer | null, stock: Stock): MockAnswer {
  const picked = pickAtOnce(asked, scripted, stock)
  const encode =
    /^text\/event-stream/.test(picked.headers['content-type'] ?? '') && asked.endpoint?.encoder?.()
  const answer = encode ? encoded(picked, encode) : picked
  return scripted?.wait ? { ...answer, parts: [{ wait: scripted.wait }, ...answer.parts] } : answer
}

/** Encodes a stream's events for a provider that does not send server-sent events. */
const encoded = (answer: MockAnswer, encode: (events: Uint8Array) => Uint8Array): MockAnswer => ({
  ...answer,
  headers: { ...answer.headers, 'content-type': EVENT_STREAM_TYPE },
  parts: answer.parts.map((part) => (part instanceof Uint8Array ? encode(part) : part)),
})

/** Returns true for a script that answers by itself, at any path: a complete answer, or words. */
export const isExplicit = (scripted: ParsedAnswer | null): scripted is ParsedAnswer =>
  scripted !== null && (isSpeltOut(scripted) || scripted.say !== undefined)

const isSpeltOut = ({ status, body, events }: ParsedAnswer): boolean =>
  status !== undefined || body !== undefined || events !== undefined

function pickAtOnce(asked: MatchRequest, scripted: ParsedAnswer | null, stock: Stock): MockAnswer {
  const { provider, endpoint, wants, offered, path } = asked
  const speech = endpoint?.speech ?? null
  if (!speech && scripted && needsDialect(scripted))
    return mistaken(
      `The script has words of a model, but the mock of ${provider.name} speaks no dialect at ${path}. Script a complete answer with status, headers and body, or with events of data, raw or base64.`,
    )
  if (scripted && isSpeltOut(scripted)) return speltOut(scripted, asked)
  const scene = { provider, wants, offered, speech, number: 0, json: wantedJson(asked.body) }
  if (scripted?.say) {
    const output = wordsOf(scripted.say, asked.body)
    if ('mistake' in output) return mistaken(output.mistake)
    const { usage, served: model } = scripted
    const more = { ...output, ...(usage && { usage }), ...(model !== undefined && { model }) }
    const spoken = speak(scene, say(scene, more))
    if (spoken) return { ...spoken, from: 'script' }
  }
  const found = stock.find(asked.criteria)
  const mayInvent = asked.named || stock.invent
  const forAgent = mayInvent || !isAmongOwn(found, asked, stock) ? null : outputForAgent(asked.body)
  const spoken = forAgent && speak(scene, say(scene, forAgent))
  if (spoken) return { ...spoken, from: 'coding agent' }
  const recorded = 'bytes' in found ? recordedAnswer(found, asked, stock) : null
  if (recorded) return recorded
  const scenario = mayInvent ? findScenario(asked.scenario) : null
  const played = scenario?.scenario.play({ ...scene, number: scenario.number })
  if (played) return { ...played, from: asked.scenario }
  return 'bytes' in found ? answerFrom(found, stock.pace) : noRecording(asked, found, stock)
}

/** Returns true if the package's own recordings have answers of the provider. */
function isAmongOwn(found: Recording | Miss, { criteria }: MatchRequest, { folder }: Stock): boolean {
  const nearest = 'bytes' in found ? found : found.nearest
  return folder === null && criteria.places.some(({ provider }) => provider === nearest?.provider)
}

/** Returns true for a script whose words or events need the dialect of an endpoint. */
const needsDialect = ({ say, events = [] }: ParsedAnswer): boolean =>
  say !== undefined || events.some((step) => 'said' in step || 'ending' in step || 'failure' in step)

/** Returns the recording as an answer; null if it does not fit the request and an answer may be made up. */
function recordedAnswer(found: Recording, asked: MatchRequest, stock: Stock): MockAnswer | null {
  const { endpoint, wants, offered, body } = asked
  const mayInvent = asked.named || stock.invent
  if (mayInvent && offered.length > 0 && !callsOneOf(found, offered)) return null
  const isOwnAnswer = found.request.said !== undefined || found.request.when !== undefined
  if (mayInvent && !isOwnAnswer && offered.length === 0 && endpoint?.speech && wantedJson(body) !== null)
    return null
  const usageOnly = wants.stream && !wants.usage ? endpoint?.speech?.isUsageOnly : undefined
  const answer = answerFrom(
    found,
    stock.pace,
    (event) => usageOnly?.(event) === true || endpoint?.leavesOut?.(event, body) === true,
  )
  // An answer that was found by the content of its request fits it.
  if (!endpoint?.fit || found.response.status !== 200 || found.request.said) return answer
  const recorded = parsed(found.bytes) ?? found.bytes
  const fitted = endpoint.fit(recorded, body)
  if (!fitted || fitted.body === recorded) return answer
  if (fitted.body === null || (fitted.madeUp.length > 0 && !mayInvent))
    return missing(asked, `The nearest is ${found.name}; it differs in ${fitted.madeUp.join(', ')}.`, stock)
  const waits = answer.parts.filter((part) => 'wait' in part)
  const { 'content-length': _, ...recordedHeaders } = answer.headers
  const headers = { ...recordedHeaders, ...(fitted.type !== undefined && { 'content-type': fitted.type }) }
  const bytes = fitted.body instanceof Uint8Array ? fitted.body : bytesOf(JSON.stringify(fitted.body))
  return { ...answer, headers, parts: [...waits, bytes] }
}

/** Returns true if the recording calls a tool that was offered. */
function callsOneOf({ bytes }: Recording, offered: readonly OfferedTool[]): boolean {
  const names = Buffer.from(bytes)
    .toString('utf8')
    .matchAll(/"name":\s*"([^"\\]*)"/g)
  const called = new Set([...names].map(([, name]) => name))
  return offered.some(({ name }) => called.has(name))
}

function speltOut(
  { status = 200, headers = {}, body, refusal, events }: ParsedAnswer,
  { provider, endpoint, wants, offered }: MatchRequest,
): MockAnswer {
  if (events)
    return {
      from: 'script',
      status,
      headers: { 'content-type': 'text/event-stream', ...lowerCase(headers) },
      parts: partsOf(events, { provider, wants, speech: endpoint?.speech ?? null, offered, number: 0 }),
    }
  if (body === undefined && status >= 400)
    return {
      ...refuseLike({ provider }, kindOf(status), refusal ?? `Scripted ${status}.`, {
        status,
        headers: lowerCase(headers),
      }),
      from: 'script',
    }
  return wholeAnswer('script', status, body ?? '', lowerCase(headers))
}

type Output = Pick<ModelOutput, 'reasoning' | 'text' | 'calls' | 'finish'>

/** Converts output for a provider's encoder, or returns the reason why the script does not fit the request. */
function wordsOf(
  { reasoning, text, calls }: NonNullable<ParsedAnswer['say']>,
  body: unknown,
): Output | { readonly mistake: string } {
  const made = calls.map((call, index) => callOf(call, index, body))
  const mistake = made.find((one) => typeof one === 'string')
  if (mistake !== undefined) return { mistake }
  return {
    reasoning: reasoning ? [reasoning] : [],
    text: text ? [text] : [],
    calls: made.filter((one) => typeof one !== 'string'),
    finish: calls.length > 0 ? 'tool_calls' : 'stop',
  }
}

/** Makes a call with its arguments in two pieces, or returns a message about the missing tool. */
function callOf(
  { id, name, arguments: given }: NonNullable<ParsedAnswer['say']>['calls'][number],
  index: number,
  body: unknown,
): ToolCall | string {
  const offered = offeredTools(body)
  const tool = name === undefined ? offered[0] : offered.find((one) => one.name === name)
  const toolName = name ?? tool?.name
  if (toolName === undefined || (given === undefined && !tool)) {
    const names = offered.map((one) => one.name).join(', ') || 'none'
    return `The script calls ${toolName === undefined ? 'a tool' : `the tool ${JSON.stringify(toolName)}`}, but the request offers ${names}. Correct the name, or script its arguments.`
  }
  const json = JSON.stringify(given ?? sampleOf(tool?.schema))
  return {
    // Default id: differs in each turn of a conversation, but not between runs.
    id: id ?? `call_${hash('sha256', `${index} ${JSON.stringify(body)}`).slice(0, 24)}`,
    name: toolName,
    arguments: [json.slice(0, json.length >> 1), json.slice(json.length >> 1)],
  }
}

const mistaken = (message: string): MockAnswer =>
  wholeAnswer('script', 400, { error: { message, type: 'script_error', param: null, code: 'script_error' } })

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

type Steps = NonNullable<ParsedAnswer['events']>

/**
 * Encodes the steps. The output in `said` becomes the events of one answer; each step sends its share of
 * these events.
 */
function partsOf(steps: Steps, scene: Scene): Part[] {
  const pieces = steps.flatMap((step) => ('said' in step ? [step.said] : []))
  const rest = [...(scene.speech?.events(say(scene, { text: pieces }), scene.wants) ?? [])]
  return steps.flatMap((step): Part[] => {
    if ('said' in step) {
      const text = JSON.stringify(step.said)
      return rest.splice(0, rest.findIndex((one) => one.includes(text)) + 1).map(bytesOf)
    }
    if ('ending' in step) return rest.splice(0).map(bytesOf)
    if ('failure' in step) return scene.speech ? [bytesOf(scene.speech.failure(step.failure))] : []
    if ('data' in step) return [bytesOf(event(step.data))]
    if ('raw' in step) return [bytesOf(step.raw)]
    if ('base64' in step) return [Buffer.from(step.base64, 'base64')]
    return [step]
  })
}

const KINDS: Readonly<Record<number, ProviderRefusal>> = {
  401: 'bad_key',
  403: 'bad_key',
  404: 'unknown_model',
  429: 'rate_limited',
  503: 'overloaded',
  529: 'overloaded',
}

const kindOf = (status: number): ProviderRefusal =>
  KINDS[status] ?? (status >= 500 ? 'server_error' : 'invalid_request')

const noRecording = (asked: MatchRequest, miss: Miss, stock: Stock): MockAnswer =>
  missing(asked, nearest(miss), stock, miss.tied && 'ambiguous_recording')

/** Returns a 400, which a gateway relays to its client, because a retry would not help with any provider. */
function missing(
  { provider, criteria, method, wants, scenario, named, address }: MatchRequest,
  difference: string,
  { folder, invent }: Stock,
  code = 'no_recording',
): MockAnswer {
  const known = provider.endpoints.length > 0 ? criteria.places[0]?.provider : 'NAME'
  const command = `waybill record --provider ${known} --out ${folder ?? 'recordings'}`
  const remedy = `Record it: ${command}.${invent ? '' : ' Or have it made up: --invent (in a test: invent: true).'}`
  const message = [
    `No recording answers ${method} ${address} with model ${JSON.stringify(wants.model)}, stream ${wants.stream}, scenario "${scenario}".`,
    difference,
    named
      ? `There is no scenario "${scenario}" for it either; \`waybill mock --list\` lists the known ones.`
      : remedy,
  ].join(' ')
  return wholeAnswer('no recording', 400, {
    error: { message, type: 'replay_error', param: null, code },
  })
}

/** Returns the provider's own error for an unknown path, with the nearest recording (REC-02). */
export function noEndpoint(asked: MatchRequest, stock: Stock): MockAnswer {
  const found = stock.find(asked.criteria)
  if ('bytes' in found) return answerFrom(found, stock.pace)
  const message = `Unknown request URL: ${asked.method} ${asked.address}. ${nearest(found)}`
  return { ...refuseLike(asked, 'unknown_path', message), from: 'refusal' }
}

const nearest = ({ nearest: one, differs, tied }: Miss): string =>
  tied
    ? `These are equally near, and their answers differ: ${tied.join(', ')}. Mask less, or delete those that are not meant.`
    : one
      ? `The nearest is ${one.name}; it differs in ${differs.join(', ')}.`
      : 'There are no recordings at all.'

const parsed = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    return undefined
  }
}
