// Must-fail servers: the tests' model server with one mistake, and a server that understands nothing.
import { instead, type MustFail } from '../gateway.ts'
import { modelServer } from '../model-server.ts'

const without = (event: string) => (events: string[]) => events.filter((each) => !each.includes(event))

const broken = 'the parser gave up'

export const gateways = {
  'says-yes': {
    what: 'Every request is answered with 200 and an empty object.',
    caughtBy: ['SUITE-01'],
    start: instead((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    }),
  },
  'server-forgets-created': {
    what: 'Whole answers have no `created`, no `role` and no `object`.',
    profile: 'server',
    caughtBy: ['SRV-01/has-its-members', 'SRV-01@messages', 'SRV-01@responses'],
    start: modelServer({ body: ({ created: _, role: __, object: ___, ...more }) => more }),
  },
  'server-answers-in-text': {
    what: 'Whole and streamed answers have the content type text/plain.',
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
    what: 'The JSON in each stream event has one comma too many, and no error event follows.',
    profile: 'server',
    caughtBy: ['SRV-02/events-are-json', 'SRV-02/says-why-it-ended', 'SRV-02@messages', 'SRV-02@responses'],
    start: modelServer({ events: (events) => events.map((event) => event.replace(/\}$/, ',}')) }),
  },
  'server-draws-an-id-for-each-chunk': {
    what: 'Each chunk of a chat stream has its own id.',
    profile: 'server',
    caughtBy: ['SRV-14/repeated-values-agree'],
    start: modelServer({
      events: (events) => events.map((event, index) => event.replace('chatcmpl-1', `chatcmpl-${index}`)),
    }),
  },
  'server-forgets-the-text': {
    what: 'The last event of a response has no text, and a message’s blocks are never opened.',
    profile: 'server',
    caughtBy: ['SRV-14@messages/repeated-values-agree', 'SRV-14@responses/repeated-values-agree'],
    start: modelServer({
      events: (events) =>
        without('"type":"content_block_start"')(events).map((event) =>
          event.includes('"type":"response.incomplete"')
            ? event.replace(/"text":"[^"]*"/, '"text":""')
            : event,
        ),
    }),
  },
  'server-streams-an-error': {
    what: 'A stream ends with an error after all of its text.',
    profile: 'server',
    caughtBy: ['SRV-02/has-no-error'],
    start: modelServer({ events: (events) => events.toSpliced(-1, 0, 'data: {"error":{"message":"late"}}') }),
  },
  'server-fails-on-bad-bodies': {
    what: 'The answer to an unreadable body is a 500 with an HTML page, and every model name is accepted.',
    profile: 'server',
    caughtBy: [
      ...['SRV-03/malformed-is-4xx', 'SRV-03@messages', 'SRV-03@responses'],
      ...['SRV-10/too-long-is-refused', 'SRV-10@messages', 'SRV-10@responses', 'SRV-12/hostile-is-4xx'],
    ],
    start: modelServer({ error: () => ({ status: 500, body: broken }) }),
  },
  'server-says-detail': {
    what: "Errors have the framework's `detail` and lack the members that clients read.",
    profile: 'server',
    caughtBy: ['SRV-03/has-the-shape-of-errors'],
    start: modelServer({ error: (status, detail) => ({ status, body: { detail } }) }),
  },
  'server-takes-any-model': {
    what: "A call for a missing model is answered by the server's only model.",
    profile: 'server',
    caughtBy: ['SRV-03/unknown-model-is-refused'],
    start: modelServer({ takesAnyModel: true }),
  },
  'server-is-busy-afterwards': {
    what: 'The server stops answering after a body that it could not read.',
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
    what: 'All counts of the usage are 0.',
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
    what: 'An answer has three times the allowed tokens and claims to end by itself.',
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
    what: 'The usage total equals the number of input tokens.',
    profile: 'server',
    caughtBy: ['SRV-04/total-is-the-sum'],
    start: modelServer({
      body: (json) => ({ ...json, usage: { ...json.usage, total_tokens: json.usage?.prompt_tokens } }),
    }),
  },
  'server-calls-everything-cut': {
    what: 'The finish reason is always the token limit.',
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
    what: 'The text contains the stop string.',
    profile: 'server',
    caughtBy: ['SRV-06/stop-strings-stay-out', 'SRV-06@messages'],
    start: modelServer({
      said: (said) => {
        if (said.reason === 'stop') said.words.push('one')
      },
    }),
  },
  'server-ignores-stop': {
    what: 'The server answers requests with stop strings with 500.',
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
    what: 'The server answers requests with forced tools or schemas with 500.',
    profile: 'server',
    caughtBy: ['SRV-07/is-answered', 'SRV-08/is-answered'],
    start: modelServer({
      instead: (_: string, text: string) => (/"(json_schema|tools)"/.test(text) ? 500 : null),
    }),
  },
  'server-ignores-schemas': {
    what: 'The server ignores the schema for the answer.',
    profile: 'server',
    caughtBy: ['SRV-08/answer-fits', 'SRV-08@responses'],
    start: modelServer({
      said: (said) => {
        if (said.words[0]?.startsWith('{')) said.words = ['Oslo.']
      },
    }),
  },
  'server-lists-in-its-own-form': {
    what: 'The model list contains only names, and lacks the model under test.',
    profile: 'server',
    caughtBy: ['SRV-09/is-a-model-list', 'SRV-09/called-model-is-listed'],
    start: modelServer({ body: (json, path) => (path === '/v1/models' ? ['words-2'] : json) }),
  },
  'server-cuts-prompts': {
    what: 'The server truncates a prompt that is too long instead of refusing it.',
    profile: 'server',
    caughtBy: ['SRV-10/too-long-is-refused'],
    start: modelServer({ cutsPrompts: true }),
  },
  'server-mixes-vectors': {
    what: 'Vectors are in another order, one is shorter, and no usage is reported.',
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
    what: 'The server lists an embedding model but answers embedding calls with 500.',
    profile: 'server',
    caughtBy: ['SRV-11/is-answered'],
    start: modelServer({ instead: (path: string) => (path === '/v1/embeddings' ? 500 : null) }),
  },
  'server-fails-all-calls': {
    what: 'The server answers every call with 500.',
    profile: 'server',
    caughtBy: [
      'SRV-01/is-answered',
      'SRV-02/is-answered',
      'SRV-04/is-answered',
      'SRV-05/is-answered',
      'SRV-13/is-answered',
      'SRV-14/is-answered',
    ],
    start: modelServer({ instead: (path: string) => (path === '/v1/models' ? null : 500) }),
  },
} satisfies Readonly<Record<string, MustFail>>
