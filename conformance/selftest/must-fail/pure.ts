// Must-fail gateways for the checks of PURE.

import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { every, stray } from '../../../src/shared/boundary.ts'
import type { Timer } from '../../../src/shared/clock.ts'
import { CHAT, callIn, changeJson, failWith, type MustFail } from '../gateway.ts'

/** Messages of the newest call. */
let messages: unknown

export const gateways = {
  'asks-a-judge-first': {
    what: 'Before it refuses a malformed call, the gateway makes an inference with its own prompt.',
    caughtBy: ['PURE-07'],
    hooks: {
      async request(wanted, { spend }) {
        if (wanted.method === 'POST' && callIn(wanted) === null) await spend()
      },
    },
  },
  'sends-answered-calls-again': {
    what: 'Every call is sent to a provider twice, even after a good answer.',
    caughtBy: ['PURE-08', 'ROUTE-02'],
    hooks: {
      async request(wanted, { spend }) {
        const call = callIn(wanted)
        if (call) await spend({ messages: call.messages })
      },
    },
  },
  'refuses-through-its-provider-twice': {
    what: 'An invalid body is forwarded to the provider as an empty request, and is sent again after the refusal.',
    caughtBy: ['PURE-08', 'FAIL-02'],
    hooks: {
      async request(wanted, { spend }) {
        if (wanted.method !== 'POST' || wanted.path !== CHAT || callIn(wanted)?.model) return
        for (let sent = 0; sent < 2; sent++) await spend({ messages: undefined })
        return failWith(502)
      },
    },
  },
  'asks-for-model-lists': {
    what: 'Each read of the model list causes a request for a provider’s model list.',
    caughtBy: ['PURE-03'],
    hooks: {
      async request({ path }, { list }) {
        if (path.startsWith('/v1/models')) await list()
      },
    },
  },
  'post-on-reads': {
    what: 'A POST request to a read path is answered like a GET request.',
    caughtBy: ['PURE-06'],
    hooks: {
      request(wanted) {
        if (wanted.path !== CHAT) wanted.method = wanted.method === 'HEAD' ? 'HEAD' : 'GET'
      },
    },
  },
  'probes-its-providers': {
    what: 'The idle gateway probes a provider with a call every second.',
    caughtBy: ['PURE-02'],
    hooks: {
      started({ spend }) {
        every(1_000, () => spend().catch(() => {}), stray).unref()
      },
    },
  },
  'reads-spend-among-probes': {
    what: 'Every read causes a call, and a probe makes a call every two seconds.',
    caughtBy: ['PURE-01'],
    hooks: {
      started({ spend }) {
        every(2_000, () => spend().catch(() => {}), stray).unref()
      },
      async request({ method }, { spend }) {
        if (method === 'GET' || method === 'HEAD') await spend()
      },
    },
  },
  'repeats-the-last-call': {
    what: 'A read of the catalog sends the last call again.',
    caughtBy: ['PURE-01', 'PURE-03'],
    hooks: {
      async request(wanted, { spend }) {
        messages = callIn(wanted)?.messages ?? messages
        if (wanted.method === 'GET' && wanted.path.startsWith('/v1/models') && messages !== undefined)
          await spend({ messages })
      },
    },
  },
  'resolve-moves-on': {
    what: 'Each answer from the resolve endpoint names the next target.',
    caughtBy: ['PURE-04'],
    hooks: {
      body: (body, { path }, { count }) =>
        path.startsWith('/api/cloud/model/resolve')
          ? changeJson(body, (json) => ({ ...json, provider: count % 2 === 0 ? json.provider : 'groq' }))
          : body,
    },
  },
  'spends-before-it-refuses': {
    what: 'A call with a wrong key reaches the provider before it is refused.',
    caughtBy: ['PURE-07'],
    hooks: {
      async request(wanted, { spend }) {
        const call = callIn(wanted)
        if (call && !/wbconform/.test(String(wanted.headers.authorization)))
          await spend({ messages: call.messages })
      },
    },
  },
  'stamps-reads': {
    what: 'Each read changes something in the data directory.',
    caughtBy: ['PURE-05'],
    hooks: {
      request({ method, path }, { directory }) {
        if (method === 'GET') appendFileSync(join(directory, 'data', 'reads'), `${path}\n`)
      },
    },
  },
  'starts-with-a-call': {
    what: 'The gateway makes a call at start-up, to check whether the key works.',
    caughtBy: ['PURE-02'],
    hooks: {
      started({ spend }) {
        spend().catch(() => {})
      },
    },
  },
  'keeps-warm': {
    what: 'The gateway makes a call every 25 s to keep the connection open.',
    caughtBy: ['PURE-02', 'PURE-08'],
    patient: true,
    hooks: () => {
      let timer: Timer
      return {
        started({ spend }) {
          timer = every(25_000, () => spend().catch(() => {}), stray)
        },
        stopping: () => void timer.close(),
      }
    },
  },
} satisfies Readonly<Record<string, MustFail>>
