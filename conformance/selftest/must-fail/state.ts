// Must-fail gateways that mishandle threads and other objects that a provider stores and a request only
// names.

import { nonceIn } from '../../../mocks/ledger.ts'
import { changeRequest, isMessages, isResponses, withoutMember } from '../dialect-hooks.ts'
import { changeJson, type Json, type MustFail } from '../gateway.ts'

const isContinued = ({ thread }: Json): boolean => thread?.type === 'continue'
const GROQ = 'groq/openai/gpt-oss-120b'

export const mustFail = {
  'threads-go-on-elsewhere': {
    what: 'A turn that continues a thread goes to another provider, without the thread.',
    caughtBy: ['STATE-01/thread-stays', 'STATE-02/no-turn-loses-its-history'],
    hooks: changeRequest(isMessages, (json) =>
      isContinued(json) ? { ...withoutMember(json, 'thread'), model: GROQ } : json,
    ),
  },
  'threads-are-not-known': {
    what: 'The field thread is dropped in native and in translated calls.',
    caughtBy: [
      'STATE-01/thread-stays',
      'STATE-01/unknown-thread-is-refused',
      'STATE-02/no-turn-loses-its-history',
      'STATE-02/refused-in-its-words',
    ],
    hooks: changeRequest(isMessages, (json) => withoutMember(json, 'thread')),
  },
  'threads-are-passed-on-as-they-are': {
    what: 'A chat provider receives the field thread as an unknown field, without the earlier turns.',
    caughtBy: ['STATE-02/no-turn-loses-its-history'],
    hooks: () => {
      const threads = new Map<string, Json>()
      return {
        ...changeRequest(isMessages, (json) => {
          const nonce = nonceIn(JSON.stringify(json.messages))
          if (json.model !== GROQ || !json.thread || nonce === null) return json
          threads.set(nonce, json.thread)
          return withoutMember(json, 'thread')
        }),
        upstream: {
          request(wanted) {
            const thread = threads.get(nonceIn(wanted.body.toString('utf8')) ?? '')
            if (thread)
              wanted.body = Buffer.from(
                changeJson(wanted.body.toString('utf8'), (json) => ({ ...json, thread })),
              )
          },
        },
      }
    },
  },
  'threads-are-refused-in-other-words': {
    what: 'The error for an unsupported thread lacks the code that clients read.',
    caughtBy: ['STATE-02/refused-in-its-words'],
    hooks: {
      body: (body, wanted) =>
        isMessages(wanted) ? body.replace('"thread_unsupported_request"', '"invalid_request"') : body,
    },
  },
  'conversations-are-left-out': {
    what: 'The fields conversation and prompt are dropped for every model.',
    caughtBy: ['STATE-03@responses/only-its-keeper-is-asked'],
    hooks: changeRequest(isResponses, (json) => withoutMember(withoutMember(json, 'conversation'), 'prompt')),
  },
  'containers-are-left-out': {
    what: 'The field container is dropped for every model, and no header names the loss.',
    caughtBy: ['STATE-03/only-its-keeper-is-asked'],
    hooks: changeRequest(isMessages, (json) => withoutMember(json, 'container')),
  },
} satisfies Readonly<Record<string, MustFail>>
