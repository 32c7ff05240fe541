// What a scenario is: a way to answer that is made by code, not recorded. Knows the parts of an answer and how a
// provider speaks; does not know which scenarios there are.
import { type Answer, bytesOf, wholeAnswer } from './answer.ts'
import type { Provider, Refusal, Refused, Said, Speech, Usage, Wants } from './provider.ts'

/** Where a scenario plays: who was asked, for what, and how this endpoint speaks (null: no model speaks here). */
export interface Scene {
  readonly provider: Provider
  readonly wants: Wants
  readonly speech: Speech | null
  /** The number in the scenario's name: 3 in `cut-after-3`. */
  readonly number: number
}

/** An answer without its name; null where this scenario cannot play, because no model speaks here. */
export type Played = Omit<Answer, 'from'> | null

export interface Scenario {
  /** One line for the list. `N` in the name stands for a number. */
  readonly description: string
  /** Whose structure it follows. */
  readonly shape: string
  /** Top-level fields that the provider does not know are refused as it would, not only noted. */
  readonly strict?: true
  play(scene: Scene): Played
}

export const DIALECT = "the provider's own answers, in its dialect"

export const PLAIN_USAGE: Usage = { input: 20, output: 7, cached: 0, reasoning: 0 }

/** A short text with characters of two and four bytes, so that boundaries can fall inside them. */
export const PLAIN_TEXT = ['The', ' witness', ' greets', ' a', ' naïve', ' café', ' 🙂', '.']

/** What the model says: a short text, unless told otherwise. */
export function say({ wants }: Scene, more: Partial<Said> = {}): Said {
  return {
    model: wants.model ?? 'witness',
    reasoning: [],
    text: PLAIN_TEXT,
    calls: [],
    finish: 'stop',
    usage: PLAIN_USAGE,
    ...more,
  }
}

/** Says it, whole or streamed as it was asked for; each event is one write. */
export function speak({ speech, wants }: Scene, said: Said): Played {
  if (!speech) return null
  return wants.stream
    ? streamOf(speech, speech.events(said, wants))
    : wholeAnswer('', 200, speech.whole(said))
}

/** A stream of these events. */
export const streamOf = ({ streamType }: Speech, events: readonly string[]): NonNullable<Played> => ({
  status: 200,
  headers: { 'content-type': streamType },
  parts: events.map(bytesOf),
})

/** The provider's own refusal, with its own status or with another. */
export function refuse(
  { provider }: Pick<Scene, 'provider'>,
  kind: Refusal,
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

export const refusalOf = ({ status, body, headers }: Refused): NonNullable<Played> =>
  wholeAnswer('', status, body, headers)
