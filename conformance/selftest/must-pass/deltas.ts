// Gateways with answers that have the usual content in unusual members.

import { callIn, changeEvent, changeJson, type Json, type MustPass, onEvent, parseJson } from '../gateway.ts'
import type { Wanted } from '../wire.ts'

/** Changes the deltas of a stream and the message of a whole answer. */
const said = (change: (said: Json) => Json) => ({
  event: (event: string) =>
    changeEvent(event, (json) => ({
      ...json,
      ...(json.choices && {
        choices: json.choices.map((choice: Json) => ({ ...choice, delta: change(choice.delta ?? {}) })),
      }),
    })),
  body: (body: string, wanted: Wanted) =>
    callIn(wanted)
      ? changeJson(body, (json) =>
          json.choices
            ? {
                ...json,
                choices: json.choices.map((choice: Json) => ({ ...choice, message: change(choice.message) })),
              }
            : json,
        )
      : body,
})

const withoutThoughts = said(({ reasoning: _, reasoning_content: __, ...rest }) => rest).event

/** Running count that replaces the usage until the real usage arrives. */
const running = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }

export const mustPass = {
  'role-in-each-delta': {
    what: 'Each delta repeats the role.',
    hooks: { event: said((delta) => ({ role: 'assistant', ...delta })).event },
  },
  'content-is-null-in-the-last-delta': {
    what: 'A delta without text has `content: null`.',
    hooks: { event: said((delta) => ({ content: null, ...delta })).event },
  },
  'thoughts-by-another-name': {
    what: 'Thoughts are in `reasoning` instead of `reasoning_content`, because providers use both names.',
    hooks: said(({ reasoning_content: reasoning, ...rest }) =>
      reasoning === undefined ? rest : { ...rest, reasoning },
    ),
  },
  'thoughts-by-both-names': {
    what: 'Thoughts are in `reasoning`, and `reasoning_content` is present but always empty.',
    hooks: said(({ reasoning_content: reasoning, ...rest }) =>
      reasoning === undefined ? rest : { ...rest, reasoning_content: '', reasoning },
    ),
  },
  'thoughts-of-one-provider-are-left-out': {
    what: "Streams leave out one provider's reasoning, because OpenAI has no field for it.",
    hooks: {
      event: (event, _, wanted) =>
        callIn(wanted)?.model === 'groq/openai/gpt-oss-120b' ? withoutThoughts(event) : [event],
    },
  },
  'usage-in-each-chunk': {
    what: 'If the client requests usage, each chunk has the usage so far, and the last chunk has the total.',
    hooks: {
      event: (event, _, wanted) =>
        (callIn(wanted)?.stream_options as Json | undefined)?.include_usage
          ? changeEvent(event, (json) =>
              json.choices?.length && !json.usage ? { ...json, usage: running } : json,
            )
          : [event],
    },
  },
  'usage-with-more': {
    what: 'Usage has token fields of other dialects in addition to the standard fields.',
    hooks: {
      event: onEvent((json) => (json.usage ? { ...json, usage: more(json.usage) } : json)),
      body: (body, wanted) =>
        callIn(wanted)
          ? changeJson(body, (json) => (json.usage ? { ...json, usage: more(json.usage) } : json))
          : body,
    },
  },
  'finishes-apart': {
    what: 'The finish reason is in a separate chunk after the last text.',
    hooks: {
      event: (event) => {
        const parts = changeEvent(event, (json) =>
          json.choices?.[0]?.finish_reason
            ? { ...json, choices: [{ ...json.choices[0], finish_reason: null }] }
            : json,
        )
        return parts[0] === event ? [event] : [...parts, ...finishOnly(event)]
      },
    },
  },
  'parses-arguments': {
    what: 'The gateway parses tool-call arguments in whole answers and writes them as the same JSON with spaces.',
    hooks: {
      body: said((message) =>
        message.tool_calls ? { ...message, tool_calls: message.tool_calls.map(spaced) } : message,
      ).body,
    },
  },
  'blank-lines-before-the-answer': {
    what: 'The gateway sends blank lines before the JSON of an answer while the client waits.',
    hooks: { body: (body, wanted) => (callIn(wanted) ? `\n\n  \n${body}` : body) },
  },
  'choices-with-more': {
    what: 'The gateway adds fields about safety, text and origin to choices.',
    hooks: {
      body: (body, wanted) =>
        callIn(wanted)
          ? changeJson(body, (json) => ({
              ...json,
              ...(json.choices && {
                provider: 'somebody',
                choices: json.choices.map((choice: Json) => ({
                  native_finish_reason: 'STOP',
                  content_filter_results: { hate: { filtered: false } },
                  ...choice,
                })),
              }),
            }))
          : body,
    },
  },
} satisfies Record<string, MustPass>

const more = (usage: Json): Json => ({
  ...usage,
  input_tokens: usage.prompt_tokens,
  output_tokens: usage.completion_tokens,
  prompt_cache_hit_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
  cost: 0.0001,
})

const spaced = (call: Json): Json => ({
  ...call,
  function: { ...call.function, arguments: JSON.stringify(parseJson(call.function.arguments), null, 1) },
})

const finishOnly = (event: string): readonly string[] =>
  changeEvent(event, ({ usage: _, ...json }) => ({
    ...json,
    choices: [{ index: json.choices[0].index, delta: {}, finish_reason: json.choices[0].finish_reason }],
  }))
