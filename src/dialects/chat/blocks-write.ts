// Converts blocks to a chat request. Format: OpenAI API reference, "Chat".

import type { Losses } from '../../core/losses.ts'
import { acceptedEffort, acceptedLimit, acceptedSampling, isOff } from '../accepted.ts'
import {
  type Conversation,
  namedSchema,
  type Peer,
  type Sampling,
  type Tool,
  writeExtras,
} from '../blocks.ts'
import { looseFormat, looseTool } from '../strict.ts'
import { messagesOf } from './blocks-write-messages.ts'

const EXTRAS = new Set(
  'metadata service_tier store prompt_cache_key prompt_cache_retention safety_identifier verbosity top_logprobs logit_bias'.split(
    ' ',
  ),
)

/** Returns true for OpenAI itself. Compatible servers have another name for the output limit. */
const isOpenAi = (host: string): boolean => /(^|\.)openai(\.azure)?\.com$/.test(host)

export function writeRequest(asked: Conversation, peer: Peer, losses: Losses): Record<string, unknown> {
  const { turns, tools, choice, parallel, stop, user, extras } = asked
  const { facts } = peer
  const body: Record<string, unknown> = { messages: messagesOf(turns, peer, losses) }
  const limit = facts.chat_limit ?? (isOpenAi(peer.host) ? 'max_completion_tokens' : 'max_tokens')
  if (asked.maxTokens !== null) body[limit] = acceptedLimit(asked.maxTokens, facts, losses)
  if (tools.length > 0) {
    body.tools = tools.map((tool) => toolFor(looseTool(tool, losses), losses))
    if (choice)
      body.tool_choice =
        choice.type === 'tool' ? { type: 'function', function: { name: choice.name } } : choice.type
    if (parallel !== null) body.parallel_tool_calls = parallel
  }
  // OpenAI accepts at most four stop sequences.
  if (stop.length > 0) body.stop = stop.slice(0, MAX_STOPS)
  if (stop.length > MAX_STOPS) losses.add('stop')
  losses.of(asked.sampling.topK, 'sampling.top_k')
  const effort = effortFor(asked, peer, losses)
  if (effort !== null) body.reasoning_effort = effort
  const thinks = effort === null ? facts.thinks_unasked === 'yes' : effort !== 'none'
  writeSampling(body, acceptedSampling(asked.sampling, facts, thinks, losses))
  const format = formatFor(looseFormat(asked.format, losses))
  if (format) body.response_format = format
  if (user !== null) body.user = user
  writeExtras(extras, 'openai', EXTRAS, body, losses)
  return body
}

const MAX_STOPS = 4

function writeSampling(body: Record<string, unknown>, sampling: Sampling): void {
  const { temperature, topP, seed, presencePenalty, frequencyPenalty } = sampling
  const said = {
    temperature,
    top_p: topP,
    seed,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
  }
  for (const [name, value] of Object.entries(said)) if (value !== null) body[name] = value
}

function formatFor(format: Conversation['format']): object | null {
  if (format?.type !== 'schema') return format && { type: 'json_object' }
  return { type: 'json_schema', json_schema: namedSchema(format) }
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']

function effortFor({ reasoning, tools }: Conversation, peer: Peer, losses: Losses): string | null {
  const { facts } = peer
  const { effort, budget, on } = reasoning
  const wished = effort ?? budget
  if (tools.length > 0 && facts.chat_tools === 'effort_none') {
    if (!isOff(reasoning)) losses.of(wished, 'effort')
    return 'none'
  }
  if (wished === null && on === true) losses.add('effort')
  // Most servers have no setting that turns reasoning off.
  const words = on === false && effort === null ? [] : EFFORTS
  return acceptedEffort(reasoning, facts, words, losses)
}

function toolFor({ kind, name, description, schema, strict, cache, grammar }: Tool, losses: Losses): object {
  losses.of(cache, 'cache_control')
  const described = description === null ? { name } : { name, description }
  if (kind === 'custom')
    return { type: 'custom', custom: { ...described, ...(grammar === undefined ? {} : { format: grammar }) } }
  const parameters = schema ?? { type: 'object', properties: {} }
  return { type: 'function', function: { ...described, parameters, ...(strict === null ? {} : { strict }) } }
}
