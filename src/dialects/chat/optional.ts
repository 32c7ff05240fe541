// Members of a chat request that may be left out or replaced.
import { openAiOptional } from '../openai-request.ts'
import type { OptionalMember } from '../optional-members.ts'

/** Newer models use another name for the output limit. Older servers support only the old name. */
const renamed = (from: string, to: string): OptionalMember => ({
  path: [from],
  loss: null,
  instead: {
    words: new RegExp(`\\buse ['"\`]${to}['"\`]`, 'i'),
    members: ({ [from]: limit }, factsOf) =>
      (factsOf('chat').chat_limit ?? to) === to ? { [to]: limit } : null,
    loss: null,
  },
})

export const optional: readonly OptionalMember[] = [
  renamed('max_tokens', 'max_completion_tokens'),
  renamed('max_completion_tokens', 'max_tokens'),
  ...openAiOptional,
  { path: ['top_k'], loss: 'sampling.top_k' },
  { path: ['seed'], loss: 'sampling.seed' },
  { path: ['presence_penalty'], loss: 'sampling.penalties' },
  { path: ['frequency_penalty'], loss: 'sampling.penalties' },
  { path: ['logit_bias'], loss: 'sampling.penalties' },
  {
    path: ['reasoning_effort'],
    loss: 'effort',
    words: /\breasoning.?effort\b/i,
    // Tools that the model accepts only in responses. Lower effort does not help; without an effort the model
    // still thinks.
    unless: /\bplease use \/v1\/responses instead\b/i,
    instead: {
      words: /\bset reasoning_effort to ['"`]none['"`]/i,
      members: (_, factsOf) =>
        factsOf('chat').efforts?.includes('none') === false ? null : { reasoning_effort: 'none' },
      loss: 'effort',
    },
  },
  { path: ['verbosity'], loss: 'verbosity' },
  { path: ['logprobs'], loss: 'logprobs' },
]
