// What a scripted provider says, in the dialect of whoever asks it: pieces of a stream, its end, a whole answer, an error. Every
// value is made up. Pure.
import type { Target } from './target.ts'

/** A piece of text. */
export const delta = (content: string) => ({ said: content })

/** What ends a stream. */
export const END = { ending: true } as const

/** A whole answer. */
export const answer = (text: string) => ({ say: { text } })

/**
 * The first target that is tried fails, and any other answers. Where a route has one model at two deployments, the
 * witness cannot tell them apart: the first request fails.
 */
export const firstTargetFails = (
  status: number,
  { targets }: Pick<Target['models']['logical'][number], 'targets'>,
) => [{ ...failure(status), ...(areDifferent(targets) && { same_target: true }) }, { scenario: 'plain' }]

/** Whether the witness can tell at least two targets apart. */
export const areDifferent = (
  targets: readonly { readonly provider: string; readonly model: string }[],
): boolean => new Set(targets.map(({ provider, model }) => `${provider}/${model}`)).size > 1

/** An answer with an error status. */
export const failure = (status: number) => ({ status, refusal: `synthetic ${status}` })
