// Scenario: an answer that is made by code, not recorded. Knows the parts of an answer and a provider's
// encoder. Independent of the single scenarios.
import { bytesOf, type MockAnswer, wholeAnswer } from '../answer.ts'
import type {
  MockProvider,
  MockUsage,
  ModelOutput,
  ProviderRefusal,
  RefusedRequest,
  Speech,
  Wants,
} from '../provider.ts'
import type { OfferedTool } from './offered-tools.ts'

/** Context of a scenario: provider, request, and the endpoint's encoder (null without a model). */
export interface Scene {
  readonly provider: MockProvider
  readonly wants: Wants
  readonly speech: Speech | null
  /** Tools that the request offers and its caller carries out. */
  readonly offered: readonly OfferedTool[]
  /** Number in the scenario's name: 3 in `cut-after-3`. */
  readonly number: number
  /** Sample of the schema to which the request binds the text; null if the text is free. */
  readonly json?: string | null
}

/** Answer without its name; null if the scenario is impossible because the endpoint has no model. */
export type Played = Omit<MockAnswer, 'from'> | null

export interface Scenario {
  /** Line for the list. `N` in the name stands for a number. */
  readonly description: string
  /** Source of the answer's structure. */
  readonly shape: string
  /** True if unknown top-level fields are refused, as the provider does, instead of only noted. */
  readonly strict?: true
  /**
   * True if the scenario calls tools. Once a request contains results, a model with this name answers with
   * text instead.
   */
  readonly callsTools?: true
  play(scene: Scene): Played
}

export const DIALECT = "the provider's own answers, in its dialect"

export const PLAIN_USAGE: MockUsage = { input: 20, output: 7, cached: 0, reasoning: 0 }

/** Short text with characters of two and four bytes, so that boundaries can fall within a character. */
const PLAIN_TEXT = ['The', ' mock', ' greets', ' a', ' naïve', ' café', ' 🙂', '.']

/** Returns the model's output: by default, a short text, or JSON if the request asks for it. */
export function say({ wants, json = null }: Scene, more: Partial<ModelOutput> = {}): ModelOutput {
  const half = (json?.length ?? 0) >> 1
  return {
    model: wants.model ?? 'mock',
    reasoning: [],
    text:
      json === null ? PLAIN_TEXT : [json.slice(0, half), json.slice(half)].filter((piece) => piece !== ''),
    calls: [],
    finish: 'stop',
    usage: PLAIN_USAGE,
    ...more,
  }
}

/** Encodes the output, whole or streamed as requested; each event is sent in one write. */
export function speak({ speech, wants }: Scene, said: ModelOutput): Played {
  if (!speech) return null
  return wants.stream
    ? streamOf(speech, speech.events(said, wants))
    : wholeAnswer('', 200, speech.whole(said))
}

export const streamOf = ({ streamType }: Speech, events: readonly string[]): NonNullable<Played> => ({
  status: 200,
  headers: { 'content-type': streamType },
  parts: events.map(bytesOf),
})

/** Returns the provider's own error, with its usual status or the given one. */
export function refuseLike(
  { provider }: Pick<Scene, 'provider'>,
  kind: ProviderRefusal,
  message: string,
  { status, headers = {}, param }: { status?: number; headers?: Record<string, string>; param?: string } = {},
): NonNullable<Played> {
  const refused = provider.refusal(kind, message, param)
  return refusalOf({
    ...refused,
    status: status ?? refused.status,
    headers: { ...refused.headers, ...headers },
  })
}

export const refusalOf = ({ status, body, headers }: RefusedRequest): NonNullable<Played> =>
  wholeAnswer('', status, body, headers)
