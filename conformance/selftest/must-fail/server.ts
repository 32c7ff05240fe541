// Must-fail servers for the checks of SRV: the tests' model server with one mistake.
import type { MustFail } from '../gateway.ts'
import { modelServer } from '../model-server.ts'

const without = (event: string) => (events: string[]) => events.filter((each) => !each.includes(event))

const broken = 'the parser gave up'

export const mustFail = {
  'server-forgets-created': {
    what: 'Whole answers have no `created`, no `role` and no `object`.',
    profile: 'server',
    caughtBy: ['SRV-01/has-its-members', 'SRV-01@messages', 'SRV-01@responses'],
    start: modelServer({ body: ({ created: _, role: __, object: ___, ...more }) => more }),
  },
  'server-answers-in-text': {
    what: 'Answers are called plain text, streamed or not.',
    profile: 'server',
    caughtBy: ['SRV-01/is-json', 'SRV-02/is-an-event-stream'],
    start: modelServer({ contentType: 'text/plain' }),
  },
  'server-ends-without-mark': {
    what: 'Streams have no end mark.',
    profile: 'server',
    caughtBy: [
      'SRV-02/ends-once',
      'SRV-02@messages/ends-once',
      'SRV-02@responses/ends-once',
      'SRV-13/is-whole',
    ],
    start: modelServer({
      events: (events) =>
        without('data: [DONE]')(
          without('"type":"message_stop"')(without('"type":"response.incomplete"')(events)),
        ),
    }),
  },
  'server-breaks-events': {
    what: 'Each event of a stream has a comma too many, and no error says why.',
    profile: 'server',
    caughtBy: ['SRV-02/events-are-json', 'SRV-02/says-why-it-ended', 'SRV-02@messages', 'SRV-02@responses'],
    start: modelServer({ events: (events) => events.map((event) => event.replace(/\}$/, ',}')) }),
  },
  'server-streams-an-error': {
    what: 'A stream ends with an error after all of its text.',
    profile: 'server',
    caughtBy: ['SRV-02/has-no-error'],
    start: modelServer({ events: (events) => events.toSpliced(-1, 0, 'data: {"error":{"message":"late"}}') }),
  },
  'server-fails-on-bad-bodies': {
    what: 'What it cannot read is a 500 with a page, and it takes any name for its model.',
    profile: 'server',
    caughtBy: [
      ...['SRV-03/malformed-is-4xx', 'SRV-03@messages', 'SRV-03@responses'],
      ...['SRV-10/too-long-is-refused', 'SRV-10@messages', 'SRV-10@responses', 'SRV-12/hostile-is-4xx'],
    ],
    start: modelServer({ error: () => ({ status: 500, body: broken }) }),
  },
  'server-says-detail': {
    what: 'Errors are the framework’s: `detail`, and nothing where clients look.',
    profile: 'server',
    caughtBy: ['SRV-03/has-the-shape-of-errors'],
    start: modelServer({ error: (status, detail) => ({ status, body: { detail } }) }),
  },
  'server-takes-any-model': {
    what: 'A call for a model that does not exist is answered by the only one there is.',
    profile: 'server',
    caughtBy: ['SRV-03/unknown-model-is-refused'],
    start: modelServer({ takesAnyModel: true }),
  },
  'server-is-busy-afterwards': {
    what: 'After a body that it could not read, it answers nothing any more.',
    profile: 'server',
    caughtBy: ['SRV-03/is-answered', 'SRV-12/is-answered'],
    start: modelServer(() => {
      let isBroken = false
      return {
        instead(path: string, text: string) {
          if (isBroken && path !== '/v1/models') return 503
          isBroken ||= path !== '/v1/models' && !text.includes('"messages":[{"role"')
          return null
        },
      }
    }),
  },
  'server-counts-nothing': {
    what: 'Usage is 0 for everything.',
    profile: 'server',
    caughtBy: [
      'SRV-04/has-counts',
      'SRV-04@messages',
      'SRV-04@responses',
      'SRV-04/input-grows-with-the-prompt',
    ],
    start: modelServer({
      said: (said) => {
        said.input = 0
      },
    }),
  },
  'server-ignores-limits': {
    what: 'An answer has three times the tokens that were allowed, and ends by itself.',
    profile: 'server',
    caughtBy: ['SRV-04/output-is-within-its-limit'],
    start: modelServer({
      said: (said) => {
        said.output *= 3
        if (said.reason === 'length') said.reason = 'stop'
      },
    }),
  },
  'server-adds-wrongly': {
    what: 'The total is the input.',
    profile: 'server',
    caughtBy: ['SRV-04/total-is-the-sum'],
    start: modelServer({
      body: (json) => ({ ...json, usage: { ...json.usage, total_tokens: json.usage?.prompt_tokens } }),
    }),
  },
  'server-calls-everything-cut': {
    what: 'The reason for the end is always the limit.',
    profile: 'server',
    caughtBy: ['SRV-05/limit-is-reported', 'SRV-05@messages', 'SRV-05@responses'],
    start: modelServer({
      said: (said) => {
        said.words = said.words.slice(0, 3)
        said.output = 3
        said.reason = 'length'
      },
    }),
  },
  'server-says-stop-strings': {
    what: 'The stop string is part of the text.',
    profile: 'server',
    caughtBy: ['SRV-06/stop-strings-stay-out', 'SRV-06@messages'],
    start: modelServer({
      said: (said) => {
        if (said.reason === 'stop') said.words.push('one')
      },
    }),
  },
  'server-ignores-stop': {
    what: 'Stop strings are a 500.',
    profile: 'server',
    caughtBy: ['SRV-06/is-answered'],
    start: modelServer({
      instead: (_: string, text: string) => (/"stop(_sequences)?":/.test(text) ? 500 : null),
    }),
  },
  'server-answers-tools-in-text': {
    what: 'A forced tool is answered with text.',
    profile: 'server',
    caughtBy: ['SRV-07/is-called', 'SRV-07@messages', 'SRV-07@responses'],
    start: modelServer({
      said: (said) => {
        if (said.tool === null) return
        said.tool = null
        said.words = ['Oslo']
        said.reason = 'stop'
      },
    }),
  },
  'server-makes-arguments-up': {
    what: 'Arguments of a forced tool do not fit its schema.',
    profile: 'server',
    caughtBy: ['SRV-07/arguments-fit', 'SRV-07@messages', 'SRV-07@responses'],
    start: modelServer({
      said: (said) => {
        if (said.tool !== null) said.tool.arguments = '{"city":"Rome"}'
      },
    }),
  },
  'server-breaks-on-forms': {
    what: 'Forced tools and schemas are a 500.',
    profile: 'server',
    caughtBy: ['SRV-07/is-answered', 'SRV-08/is-answered'],
    start: modelServer({
      instead: (_: string, text: string) => (/"(json_schema|tools)"/.test(text) ? 500 : null),
    }),
  },
  'server-ignores-schemas': {
    what: 'A schema for the answer is not read.',
    profile: 'server',
    caughtBy: ['SRV-08/answer-fits', 'SRV-08@responses'],
    start: modelServer({
      said: (said) => {
        if (said.words[0]?.startsWith('{')) said.words = ['Oslo.']
      },
    }),
  },
  'server-lists-in-its-own-form': {
    what: 'The model list is a list of names, and the model of the run is not among them.',
    profile: 'server',
    caughtBy: ['SRV-09/is-a-model-list', 'SRV-09/called-model-is-listed'],
    start: modelServer({ body: (json, path) => (path === '/v1/models' ? ['words-2'] : json) }),
  },
  'server-cuts-prompts': {
    what: 'A prompt that is too long is cut without a word.',
    profile: 'server',
    caughtBy: ['SRV-10/too-long-is-refused'],
    start: modelServer({ cutsPrompts: true }),
  },
  'server-mixes-vectors': {
    what: 'Vectors come in another order, one is shorter, and nothing is counted.',
    profile: 'server',
    caughtBy: ['SRV-11/one-vector-each-in-order', 'SRV-11/vectors-are-numbers', 'SRV-11/has-counts'],
    start: modelServer({
      body: (json, path) =>
        path === '/v1/embeddings'
          ? { ...json, usage: {}, data: [...json.data, { index: 7, embedding: [1] }].reverse() }
          : json,
    }),
  },
  'server-has-no-vectors': {
    what: 'Embeddings that it lists are a 500.',
    profile: 'server',
    caughtBy: ['SRV-11/is-answered'],
    start: modelServer({ instead: (path: string) => (path === '/v1/embeddings' ? 500 : null) }),
  },
  'server-fails-all-calls': {
    what: 'Every call is a 500.',
    profile: 'server',
    caughtBy: [
      'SRV-01/is-answered',
      'SRV-02/is-answered',
      'SRV-04/is-answered',
      'SRV-05/is-answered',
      'SRV-13/is-answered',
    ],
    start: modelServer({ instead: (path: string) => (path === '/v1/models' ? null : 500) }),
  },
} satisfies Readonly<Record<string, MustFail>>
