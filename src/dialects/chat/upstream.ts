// Chat completions on the provider side: OpenAI, Groq, OpenRouter, DeepSeek, Mistral, xAI, Together, Ollama,
// vLLM. Format: OpenAI API reference, "Chat" and "Streaming".
import { memberText, omitMembers, type Replacement, renameMember, spliceMembers } from '../../json/splice.ts'
import { parseExact } from '../../shared/exact-json.ts'
import { mayHoldCarriers } from '../blocks.ts'
import type { StreamReader, UpstreamDialect } from '../dialect.ts'
import { withoutForeignReasoning } from '../foreign-reasoning.ts'
import { isObject } from '../json.ts'
import { errorIn, openAiOptional, readError } from '../openai.ts'
import { atMost, levelFor, type OptionalMember, type Tune } from '../optional-members.ts'
import { endedBadly } from '../stops.ts'
import { askForUsage } from './client.ts'
import { ChatReader } from './read-answer.ts'

const LIMIT = /max_(completion_)?tokens/
const NAMES = ['max_tokens', 'max_completion_tokens'] as const

/**
 * Returns the request with its output limit under the name that the model accepts. If it has both names, both
 * limits hold: the lower one is sent. Null if there is nothing to rename, such as a limit that is not a number.
 */
const withKnownLimit: NonNullable<UpstreamDialect['renamed']> = (body, model, factsOf) => {
  const { chat_limit: to } = factsOf(model, 'chat')
  if (to === undefined || !LIMIT.test(body)) return null
  const from = NAMES.find((name) => name !== to)!
  const [limit, other] = [from, to].map((name) => JSON.parse(memberText(body, name) ?? 'null'))
  if (typeof limit !== 'number' || (typeof other !== 'number' && other !== null)) return null
  const text =
    other === null || limit < other
      ? renameMember(omitMembers(body, [[to]]), from, to)
      : omitMembers(body, [[from]])
  return { from, to, body: text }
}

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

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

export const tuned: Tune = (body, { effort, maxOutput }, factsOf) => {
  const facts = factsOf('chat')
  const level = effort === null ? null : levelFor(effort, facts, EFFORTS)
  let made = level === null ? body : spliceMembers(body, { reasoning_effort: JSON.stringify(level) })
  if (level !== null && memberText(made, 'reasoning') !== undefined)
    made = omitMembers(made, [['reasoning', 'effort']])
  if (maxOutput === null) return made
  // A limit from the client keeps the client's field name. Otherwise the facts decide the name.
  const names = ['max_tokens', 'max_completion_tokens'].filter((name) => memberText(made, name) !== undefined)
  const asked = names.length > 0 ? names : [facts.chat_limit ?? 'max_tokens']
  return spliceMembers(made, Object.fromEntries(asked.map((name) => [name, atMost(maxOutput)])))
}

const PATH = '/chat/completions'
const NOTHING = {}
/** Requests usage in a stream, also for a client that does not ask for it. */
const ASKING = { stream_options: '{"include_usage":true}' }

function headersFor(stream: boolean, key: string | null, forwarded: readonly string[] = []): string[] {
  const accept = stream ? 'text/event-stream' : 'application/json'
  const headers = ['content-type', 'application/json', 'accept', accept]
  headers.push('accept-encoding', 'identity', 'user-agent', 'waybill', ...forwarded)
  if (key !== null) headers.push('authorization', `Bearer ${key}`)
  return headers
}

export const upstream = {
  optional,
  renamed: withKnownLimit,
  tuned,
  isTooLong: ({ code, message }) =>
    code === 'context_length_exceeded' || /maximum context length|exceeds? the context window/i.test(message),
  relayedHeaders: /^(x-request-id|x-ratelimit-.+)$/,

  request({ text, stream, wantsUsage, forwarded }, model, { basePath, key }) {
    const values: Record<string, Replacement> = { model: JSON.stringify(model) }
    // Usage is always requested, because the record needs it. The relay removes it if the client does not
    // want it.
    if (stream && !wantsUsage) values.stream_options = askForUsage
    const own = withoutForeignReasoning(text, null)
    return {
      path: `${basePath}${PATH}`,
      headers: headersFor(stream, key, forwarded),
      body: spliceMembers(own, values),
    }
  },

  prepared(_, { basePath, key }) {
    const path = `${basePath}${PATH}`
    const [whole, streamed] = [headersFor(false, key), headersFor(true, key)]
    return ({ text, stream, wantsUsage }, json) => {
      const asks = stream && !wantsUsage
      if (mayHoldCarriers(text) || (asks && json.stream_options !== undefined)) return null
      return { path, headers: stream ? streamed : whole, added: asks ? ASKING : NOTHING }
    }
  },

  readAnswer(text, parts = null) {
    const json: unknown = JSON.parse(text)
    if (!isObject(json) || (!Array.isArray(json.choices) && errorIn(json) === null))
      throw new Error('not a chat answer')
    const parsed = new ChatReader(parts).answer(json, parts ? parseExact(text) : json)
    const isEmpty = Array.isArray(json.choices) && json.choices.length === 0
    return { ...parsed, ...(isEmpty && { error: parsed.error ?? endedBadly(null) }), done: true }
  },

  openStream: (parts = null): StreamReader => new ChatReader(parts),

  readError,
} satisfies UpstreamDialect
