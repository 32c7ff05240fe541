// Answers of a scripted provider, independent of the call's dialect: pieces of a stream, its end, a whole
// answer, an error. All values are made up. Pure.
import type { Target } from '../target/schema.ts'

export const delta = (content: string) => ({ said: content })

export const END = { ending: true } as const

export const scriptedAnswer = (text: string) => ({ say: { text } })

/**
 * Makes the first target that is tried fail, and all other targets answer. If a route has one model at two
 * deployments, the mock cannot distinguish them, so only the first request fails.
 */
export const firstTargetFails = (
  status: number,
  { targets }: Pick<Target['models']['logical'][number], 'targets'>,
) => [
  { ...scriptedFailure(status), ...(areDifferent(targets) && { same_target: true }) },
  { scenario: 'plain' },
]

/** Returns true if the mock can distinguish at least two targets. */
export const areDifferent = (
  targets: readonly { readonly provider: string; readonly model: string }[],
): boolean => new Set(targets.map(({ provider, model }) => `${provider}/${model}`)).size > 1

export const scriptedFailure = (status: number) => ({ status, refusal: `synthetic ${status}` })
