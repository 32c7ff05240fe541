// Must-fail gateways for the checks of FLOW.
import { type MustFail, onEvent } from '../gateway.ts'

export const mustFail = {
  'buffers-streams': {
    what: 'Events arrive only after the end of the stream.',
    caughtBy: ['FLOW-03'],
    hooks: () => {
      let held: string[] = []
      return {
        event(event) {
          held.push(event)
          if (!event.includes('[DONE]')) return []
          const all = held
          held = []
          return all
        },
      }
    },
  },
  'comments-are-data': {
    what: 'A comment between two events makes the gateway break off the stream.',
    caughtBy: ['FLOW-04'],
    hooks: {
      upstream: { chunk: (bytes) => bytes.toString('latin1').replaceAll(': a comment', 'data: a comment') },
    },
  },
  'decodes-each-chunk': {
    what: 'Characters that are split between two chunks are garbled.',
    caughtBy: ['FLOW-02'],
    hooks: {
      upstream: { chunk: (bytes) => bytes.toString('utf8') },
    },
  },
  'ends-with-a-stream': {
    what: 'The gateway crashes if the client or the provider breaks off a stream.',
    caughtBy: ['FLOW-06', 'LOG-01', 'LOG-06', 'LOG-07'],
    asCommand: true,
    hooks: {
      cut: () => process.exit(1),
    },
  },
  'hides-cuts': {
    what: 'A stream that the provider cut off ends like a complete stream.',
    caughtBy: ['FLOW-06'],
    hooks: { hidesCuts: true },
  },
  'ignores-leaving': {
    what: 'The provider’s stream stays open after the client has disconnected.',
    caughtBy: ['FLOW-05'],
    hooks: { ignoresLeaving: true },
  },
  'late-error-is-success': {
    what: 'A stream that failed in the middle is recorded as completed.',
    caughtBy: ['FLOW-09'],
    hooks: {
      body: (body, { path }) =>
        path.startsWith('/api/usage/request-logs/')
          ? body.replaceAll('"state":"failed"', '"state":"completed"')
          : body,
    },
  },
  'loses-an-event': {
    what: 'One event in the middle of a stream is lost.',
    caughtBy: ['FLOW-01'],
    hooks: {
      event: (event, index) => (index === 3 ? [] : [event]),
    },
  },
  'loses-the-tail': {
    what: 'The last text events of a long stream are lost.',
    caughtBy: ['FLOW-01'],
    hooks: {
      event: (event, index) => (index > 5_000 && /"content":\s*"\d/.test(event) ? [] : [event]),
    },
  },
  'no-end': {
    what: 'The gateway drops the end mark of a stream.',
    caughtBy: ['FLOW-07'],
    hooks: {
      event: (event) => (event.includes('[DONE]') ? [] : [event]),
    },
  },
  'one-tool-index': {
    what: 'All tool calls in a stream have index 0.',
    caughtBy: ['FLOW-08'],
    hooks: {
      event: (event) => [event.replace(/"index":[1-9](?=,"(id|function|type)")/g, '"index":0')],
    },
  },
  'reads-ahead': {
    what: 'The provider’s stream is read at full speed even if the client is slow.',
    caughtBy: ['FLOW-10'],
    hooks: { ignoresSlowness: true },
  },
  'repeats-an-event': {
    what: 'One event arrives twice.',
    caughtBy: ['FLOW-01'],
    hooks: {
      event: (event, index) => (index === 3 ? [event, event] : [event]),
    },
  },
  'swallows-late-errors': {
    what: 'An error inside a stream does not reach the client.',
    caughtBy: ['FLOW-09'],
    hooks: {
      event: (event) => (event.includes('"error"') ? ['data: [DONE]\n\n'] : [event]),
      hidesCuts: true,
    },
  },
  'swaps-events': {
    what: 'Two events arrive in the wrong order.',
    caughtBy: ['FLOW-01'],
    hooks: () => {
      let held = ''
      return {
        event(event, index) {
          if (index === 3) held = event
          return index === 3 ? [] : index === 4 ? [event, held] : [event]
        },
      }
    },
  },
  'two-ends': {
    what: 'A stream ends with two end marks.',
    caughtBy: ['FLOW-07'],
    hooks: {
      event: (event) => (event.includes('[DONE]') ? [event, event] : [event]),
    },
  },
  'two-finishes': {
    what: 'A stream contains the finish reason twice.',
    caughtBy: ['FLOW-07'],
    hooks: {
      event: (event) => (/"finish_reason":"/.test(event) ? [event, event] : [event]),
    },
  },
  'strips-thoughts': {
    what: 'The gateway removes the provider’s reasoning from streams.',
    caughtBy: ['FLOW-01'],
    hooks: {
      event: onEvent((json) => {
        delete json.choices?.[0]?.delta?.reasoning_content
        return json
      }),
    },
  },
  'message-for-delta': {
    what: 'Stream events have `message` instead of `delta`.',
    caughtBy: ['FLOW-01'],
    hooks: {
      event: (event) => [event.replaceAll('"delta"', '"message"')],
    },
  },
  'joins-choices': {
    what: 'All choices in a stream have index 0.',
    caughtBy: ['FLOW-01'],
    hooks: {
      event: onEvent((json) => {
        for (const choice of json.choices ?? []) choice.index = 0
        return json
      }),
    },
  },
  'streams-are-json': {
    what: 'A stream has the content type application/json.',
    caughtBy: ['FLOW-01'],
    hooks: {
      responseStart({ headers }) {
        if (/event-stream/.test(headers['content-type'] ?? '')) headers['content-type'] = 'application/json'
      },
    },
  },
} satisfies Readonly<Record<string, MustFail>>
