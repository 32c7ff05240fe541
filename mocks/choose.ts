// How a request is answered: as a script says, by a recording, or by a scenario, in this order. Pure but for the
// script's turn, which is handed in. A scenario that was not named is played only where made-up answers are allowed.
import { type Answer, bytesOf, type Part, wholeAnswer } from './answer.ts'
import type { createMatcher, MatchInput, Miss } from './match.ts'
import { type Endpoint, event, type Provider, type Refusal, type Wants } from './provider.ts'
import { answerFrom, type Pace } from './replay.ts'
import { refuse, type Scene, say, speak } from './scenario.ts'
import { findScenario } from './scenarios.ts'
import type { ParsedAnswer } from './script.ts'

/** What is known of a request when its answer is chosen. */
export interface ProviderRequest {
  readonly provider: Provider
  readonly endpoint: Endpoint | null
  readonly method: string
  readonly path: string
  readonly wants: Wants
  readonly scenario: string
  /** Whether the model id or a script names the scenario. */
  readonly named: boolean
  /** How a recording of it is asked for, in the order in which it is looked for. */
  readonly matches: readonly MatchInput[]
  /** Without the query, which may contain a key. */
  readonly address: string
}

export interface Stock {
  /** The recording whose turn it is, or the nearest. */
  readonly find: ReturnType<typeof createMatcher>
  readonly pace: Pace
  /** Whether answers that were not recorded are made up. */
  readonly invent: boolean
  /** Where the recordings are, for a person; null where they are in no folder of their own. */
  readonly folder: string | null
}

/** The answer; a 400 that names the nearest recording where there is none (REC-02). */
export function choose(asked: ProviderRequest, scripted: ParsedAnswer | null, stock: Stock): Answer {
  if (scripted && (scripted.status !== undefined || scripted.body !== undefined || scripted.events))
    return speltOut(scripted, asked)

  const { provider, endpoint, wants } = asked
  const speech = endpoint?.speech ?? null
  if (scripted?.say) {
    const scene = { provider, wants, speech, number: 0 }
    const spoken = speak(scene, say(scene, wordsOf(scripted.say)))
    if (spoken) return { ...spoken, from: 'script' }
  }
  const found = stock.find(asked.matches)
  if ('bytes' in found) {
    const unasked = wants.stream && !wants.usage ? speech?.isUsageOnly : undefined
    return answerFrom(found, stock.pace, unasked)
  }
  if (!asked.named && !stock.invent) return noRecording(asked, found, stock)
  const scenario = findScenario(asked.scenario)
  const played = scenario?.scenario.play({ provider, wants, speech, number: scenario.number })
  return played ? { ...played, from: asked.scenario } : noRecording(asked, found, stock)
}

function speltOut(
  { status = 200, headers = {}, body, refusal, events }: ParsedAnswer,
  { provider, endpoint, wants }: ProviderRequest,
): Answer {
  if (events)
    return {
      from: 'script',
      status,
      headers: { 'content-type': 'text/event-stream', ...lowerCase(headers) },
      parts: partsOf(events, { provider, wants, speech: endpoint?.speech ?? null, number: 0 }),
    }
  if (body === undefined && status >= 400)
    return {
      ...refuse({ provider }, kindOf(status), refusal ?? `Scripted ${status}.`, {
        status,
        headers: lowerCase(headers),
      }),
      from: 'script',
    }
  return wholeAnswer('script', status, body ?? '', lowerCase(headers))
}

/** The words as a provider's speech takes them; arguments come in two pieces. */
function wordsOf({ reasoning, text, calls }: NonNullable<ParsedAnswer['say']>) {
  return {
    reasoning: reasoning ? [reasoning] : [],
    text: text ? [text] : [],
    calls: calls.map(({ id, name, arguments: object }) => {
      const json = JSON.stringify(object)
      return { id, name, arguments: [json.slice(0, json.length >> 1), json.slice(json.length >> 1)] }
    }),
    finish: calls.length > 0 ? ('tool_calls' as const) : ('stop' as const),
  }
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

type Steps = NonNullable<ParsedAnswer['events']>

/** The steps as bytes. What is `said` becomes events of one answer, of which each step takes its share. */
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

const KINDS: Readonly<Record<number, Refusal>> = {
  401: 'bad_key',
  403: 'bad_key',
  404: 'unknown_model',
  429: 'rate_limited',
  503: 'overloaded',
  529: 'overloaded',
}

const kindOf = (status: number): Refusal =>
  KINDS[status] ?? (status >= 500 ? 'server_error' : 'invalid_request')

/** With 400, because trying again or elsewhere would not help: a gateway hands it to its client as it is. */
function noRecording(
  { provider, matches, method, wants, scenario, named, address }: ProviderRequest,
  miss: Miss,
  { folder, invent }: Stock,
): Answer {
  const known = provider.endpoints.length > 0 ? matches[0]?.provider : 'NAME'
  const command = `waybill record --provider ${known} --out ${folder ?? 'recordings'}`
  const remedy = `Record it: ${command}.${invent ? '' : ' Or have it made up: --invent (in a test: invent: true).'}`
  const message = [
    `No recording answers ${method} ${address} with model ${JSON.stringify(wants.model)}, stream ${wants.stream}, scenario "${scenario}".`,
    nearest(miss),
    named
      ? `There is no scenario "${scenario}" either; \`waybill witness --list\` lists the known ones.`
      : remedy,
  ].join(' ')
  return wholeAnswer('no recording', 400, {
    error: { message, type: 'replay_error', param: null, code: 'no_recording' },
  })
}

/** The provider's own word for a path where it has nothing, with the nearest recording (REC-02). */
export function noEndpoint(asked: ProviderRequest, stock: Stock): Answer {
  const found = stock.find(asked.matches)
  if ('bytes' in found) return answerFrom(found, stock.pace)
  const message = `Unknown request URL: ${asked.method} ${asked.address}. ${nearest(found)}`
  return { ...refuse(asked, 'unknown_path', message), from: 'refusal' }
}

const nearest = ({ nearest: one, differs }: Miss): string =>
  one ? `The nearest is ${one.name}; it differs in ${differs.join(', ')}.` : 'There are no recordings at all.'
