// Words with which providers say why an answer ended, in any dialect: servers that speak one dialect often use the words
// of another. Only a known word is a good end.
import type { ProviderError } from '../core/call.ts'
import type { Losses } from '../core/losses.ts'
import type { Stop } from './blocks.ts'

const WORDS: Readonly<Record<Stop, readonly string[]>> = {
  end: ['stop', 'end_turn', 'eos', 'eos_token', 'end', 'completed', 'complete', 'finished', 'done', 'normal'],
  length: [
    'length',
    'max_tokens',
    'max_output_tokens',
    'model_length',
    'max_completion_tokens',
    'max_new_tokens',
  ],
  calls: ['tool_calls', 'tool_call', 'tool_use', 'function_call', 'function_calls'],
  sequence: ['stop_sequence', 'stop_str', 'stop_string'],
  refusal: [
    ...[
      'refusal',
      'content_filter',
      'content_filtered',
      'safety',
      'recitation',
      'language',
      'blocklist',
      'sensitive',
    ],
    ...['prohibited_content', 'spii', 'image_safety', 'image_prohibited_content', 'image_recitation'],
  ],
  pause: ['pause_turn'],
  context: ['model_context_window_exceeded', 'context_length_exceeded'],
}

const STOPS = new Map(
  Object.entries(WORDS).flatMap(([stop, words]) => words.map((word) => [word, stop as Stop])),
)

/** Returns why an answer ended; null for an unknown word. */
export const stopIn = (word: unknown): Stop | null =>
  typeof word === 'string' ? (STOPS.get(word) ?? STOPS.get(word.toLowerCase()) ?? null) : null

/** Words of a failure, after which even a whole answer is not complete. */
const FAILURES = new Set([
  ...['error', 'failed', 'cancelled', 'canceled', 'abort', 'timeout', 'insufficient_system_resource'],
  ...['malformed_function_call', 'malformed_response', 'unexpected_tool_call', 'too_many_tool_calls'],
])

export const isFailure = (word: unknown): boolean =>
  typeof word === 'string' && FAILURES.has(word.toLowerCase())

/** Returns true for a word that is neither absent nor known. */
export const isUnknownStop = (word: unknown): word is string =>
  typeof word === 'string' && word !== '' && word !== 'FINISH_REASON_UNSPECIFIED' && stopIn(word) === null

/** Returns the error of an answer that ended with a word that is no good end, or with none. */
export const endedBadly = (word: unknown): ProviderError => ({
  message:
    typeof word === 'string' && word !== ''
      ? `the provider ended the answer with the reason ${JSON.stringify(word.slice(0, 64))}`
      : 'the provider ended the answer without a reason, so it may be incomplete',
  code: 'upstream_invalid',
  status: null,
})

/** Reports what is lost of the reason for the end in a dialect without words for sequences, pauses and full contexts. */
export function loseStop(stop: Stop, losses: Losses): void {
  if (stop === 'sequence') losses.add('stop_sequence')
  if (stop === 'pause' || stop === 'context') losses.add('stop_reason')
}
