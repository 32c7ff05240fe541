// What a scripted provider says, in OpenAI's shape: pieces of a stream, its end mark, a whole answer, an error.
// Every value is made up. Pure.
import type { Target } from './target.ts'

const head = { id: 'chatcmpl-synthetic', created: 0, model: 'synthetic' }

/** One event of a stream: a piece of text, or with a reason the last one. */
export const delta = (content: string, finish_reason: string | null = null) => ({
  data: {
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: finish_reason ? {} : { role: 'assistant', content }, finish_reason }],
  },
})

/** The end mark of a stream. */
export const DONE = { data: '[DONE]' }

/** A whole answer. */
export const answer = (content: string) => ({
  body: {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
  },
})

/** An error as a body. */
export const errorBody = (message: string) => ({
  error: { message, type: 'synthetic', param: null, code: 'synthetic' },
})

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
export const failure = (status: number) => ({ status, body: errorBody(`synthetic ${status}`) })
