// Must-pass servers: each is correct but unusual in one way.
import type { MustPass } from '../gateway.ts'
import { modelServer } from '../model-server.ts'

export const gateways = {
  'server-plain': {
    what: "The test suite's own model server is used unchanged.",
    profile: 'server',
    start: modelServer(),
  },
  'server-refuses-forms': {
    what: 'The server answers requests with tools or schemas with 400, because it supports neither.',
    profile: 'server',
    start: modelServer({ instead: (_, text) => (/"(json_schema|tools)"/.test(text) ? 400 : null) }),
  },
  'server-knows-no-forms': {
    what: 'The server answers requests with tools or schemas with 501, because neither is implemented.',
    profile: 'server',
    start: modelServer({ instead: (_, text) => (/"(json_schema|tools)"/.test(text) ? 501 : null) }),
  },
  'server-serves-one-model': {
    what: 'The server has one model, which it uses for every model name.',
    profile: 'server',
    mayWarn: ['SRV-03', 'SRV-03@messages', 'SRV-03@responses'],
    start: modelServer({ takesAnyModel: true }),
  },
  'server-ends-early': {
    what: 'The model ends by itself after three tokens, so it never reaches a limit.',
    profile: 'server',
    start: modelServer({
      said: (said) => {
        if (said.reason !== 'length') return
        said.words = said.words.slice(0, 3)
        said.output = Math.min(3, said.output)
        said.reason = 'stop'
      },
    }),
  },
  'server-ends-with-the-limit': {
    what: 'The model ends by itself with its last allowed token, and reports a normal end.',
    profile: 'server',
    start: modelServer({
      said: (said) => {
        if (said.reason === 'length') said.reason = 'stop'
      },
    }),
  },
  'server-says-nothing': {
    what: 'The model ends before its first word, with an empty text and 0 tokens.',
    profile: 'server',
    start: modelServer({
      said: (said) => {
        if (said.tool !== null || said.words[0]?.startsWith('{')) return
        said.words = []
        said.output = 0
        said.reason = 'stop'
      },
    }),
  },
  'server-is-cut-within-arguments': {
    what: 'A small model writes long arguments and JSON, and reaches the token limit before completing them.',
    profile: 'server',
    start: modelServer({
      said: (said) => {
        if (said.tool !== null) said.tool.arguments = '{"city":  '
        else if (said.words[0]?.startsWith('{')) said.words = ['{"city":  ']
        else return
        said.reason = 'length'
        said.output = 96
      },
    }),
  },
  'server-counts-in-another-chunk': {
    what: 'The chunk with the usage has no choice, and has its own id.',
    profile: 'server',
    start: modelServer({
      events: (events) =>
        events.map((event) =>
          event.includes('"choices":[]') ? event.replace('chatcmpl-1', 'usage-1') : event,
        ),
    }),
  },
  'server-adds-members': {
    what: 'Answers and events have more members than the dialect defines.',
    profile: 'server',
    start: modelServer({
      body: (json) => ({ ...json, timings: { predicted_ms: 1.5 }, system_fingerprint: 'b1' }),
      events: (events) => events.map((event) => event.replace(/\}$/, ',"timings":{"predicted_ms":1.5}}')),
    }),
  },
  'server-comments': {
    what: 'Streams begin with a comment, and have more comments between events.',
    profile: 'server',
    start: modelServer({
      events: (events) => [': hello', ...events.flatMap((event) => [event, ': still here'])],
    }),
  },
  'server-lists-an-alias': {
    what: "The model list has the file's name, but calls use a shorter name of the model.",
    profile: 'server',
    mayWarn: ['SRV-09'],
    start: modelServer({
      body: (json, path) =>
        path === '/v1/models' ? { ...json, data: [{ ...json.data[0], id: '/models/words-1.gguf' }] } : json,
    }),
  },
  'server-writes-no-base64': {
    what: 'Vectors are always lists of numbers, even if the request asks for base64. The official clients read both.',
    profile: 'server',
    start: modelServer({
      body: (json, path) =>
        path === '/v1/embeddings'
          ? { ...json, data: json.data.map((each: object) => ({ ...each, embedding: [1, 0.5, -1] })) }
          : json,
    }),
  },
} satisfies Readonly<Record<string, MustPass>>
