// Must-fail gateways for the checks of FAIL.

import { sleep } from '../../../src/shared/clock.ts'
import { CHAT, callIn, failWith, type MustFail } from '../gateway.ts'

export const mustFail = {
  'bad-json-is-our-fault': {
    what: 'Malformed JSON is answered with 500.',
    caughtBy: ['FAIL-02'],
    hooks: {
      responseStart(head, wanted) {
        if (wanted.method === 'POST' && callIn(wanted) === null) head.status = 500
      },
    },
  },
  crashes: {
    what: 'A deeply nested body crashes the gateway.',
    caughtBy: ['FAIL-06'],
    asCommand: true,
    hooks: {
      request({ body }) {
        if (body.includes('[[[[')) process.exit(1)
      },
    },
  },
  'empty-5xx': {
    what: 'A provider failure becomes an error without a body.',
    caughtBy: ['FAIL-05'],
    hooks: {
      body: (body, wanted) => (callIn(wanted) && /"upstream_/.test(body) ? '' : body),
    },
  },
  'hangs-up-on-bad-json': {
    what: 'After malformed JSON, the gateway closes the connection without an answer.',
    caughtBy: ['FAIL-02'],
    hooks: {
      request(wanted) {
        if (wanted.path === CHAT && wanted.method === 'POST' && callIn(wanted) === null)
          throw new Error('unexpected token')
      },
    },
  },
  'reads-it-whole-first': {
    what: 'A body that is too long is refused only after the gateway has read it completely.',
    caughtBy: ['FAIL-03'],
    hooks: {
      async request({ headers }) {
        if (Number(headers['content-length']) > 2 ** 26) await new Promise(() => {})
      },
    },
  },
  'text-errors': {
    what: 'Errors are plain text.',
    caughtBy: ['FAIL-01'],
    hooks: {
      responseStart(head) {
        if (head.status >= 400) head.headers['content-type'] = 'text/plain'
      },
      body: (body, wanted) =>
        (callIn(wanted) || wanted.method === 'POST') && body.includes('"error"')
          ? 'Something went wrong'
          : body,
    },
  },
  'waits-for-ever': {
    what: 'The gateway waits for a silent provider six seconds longer than declared.',
    caughtBy: ['FAIL-05'],
    hooks: {
      async body(body, wanted) {
        if (callIn(wanted) && body.includes('"upstream_timeout"')) await sleep(6_000)
        return body
      },
    },
  },
  wedges: {
    what: 'The gateway stops answering calls after thirty requests.',
    caughtBy: ['FAIL-06'],
    hooks: {
      async request(wanted, { count }) {
        if (count > 30 && callIn(wanted)) await new Promise(() => {})
      },
    },
  },
  'never-comes-back': {
    what: 'The gateway refuses all calls after a provider was unreachable once.',
    caughtBy: ['FAIL-05'],
    hooks: () => {
      let lost = false
      return {
        request: (wanted) =>
          lost && callIn(wanted)
            ? {
                status: 503,
                headers: { 'content-type': 'application/json' },
                body: '{"error":{"message":"gone"}}',
              }
            : undefined,
        body(body) {
          lost ||= body.includes('"upstream_unreachable"')
          return body
        },
      }
    },
  },
  'stumbles-after-bad-json': {
    what: 'The call after a malformed call fails.',
    caughtBy: ['FAIL-02/works-afterwards'],
    hooks: () => {
      let stumbles = false
      return {
        request(wanted) {
          const stumbled = stumbles
          stumbles = wanted.method === 'POST' && callIn(wanted)?.messages === undefined
          // The last malformed body of the check is a call that contains messages.
          stumbles ||= callIn(wanted)?.temperature === 'hot'
          return stumbled && callIn(wanted) ? failWith(500) : undefined
        },
      }
    },
  },
  'fails-with-short-time-outs': {
    what: 'With short time-outs, every call is answered with an error, and no provider is called.',
    caughtBy: ['FAIL-05/calls-reach-a-provider'],
    hooks: () => {
      let isShort = false
      return {
        config(text) {
          isShort = text.includes('stream_first_event: 2s')
          return text
        },
        request: (wanted) => (isShort && callIn(wanted) ? failWith(502) : undefined),
      }
    },
  },
  'stumbles-after-long-bodies': {
    what: 'The call after a body that was too large fails.',
    caughtBy: ['FAIL-03/works-afterwards'],
    hooks: () => {
      let stumbles = false
      return {
        request(wanted) {
          const stumbled = stumbles
          stumbles = Number(wanted.headers['content-length'] ?? 0) > 2 ** 19
          return stumbled && !stumbles && callIn(wanted) ? failWith(500) : undefined
        },
      }
    },
  },
} satisfies Readonly<Record<string, MustFail>>
