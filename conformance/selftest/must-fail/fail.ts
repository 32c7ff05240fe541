// Must-fail gateways for the checks of FAIL and FIT: errors, and how a model's refusals are handled.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../../../src/shared/clock.ts'
import { CHAT, callIn, failWith, type MustFail } from '../gateway.ts'
import type { HookContext, Wanted } from '../wire.ts'

/** Sends a call with a temperature to the provider by itself, the given number of times. */
async function sent(wanted: Wanted, { spend }: HookContext, times: number): Promise<boolean> {
  const call = callIn(wanted)
  if (call?.temperature === undefined) return false
  for (let n = 0; n < times; n++) await spend({ messages: call.messages, temperature: call.temperature })
  return true
}

/** Removes the temperature from a call. */
function cooled(wanted: Wanted): void {
  const { temperature: _, ...call } = callIn(wanted)!
  wanted.body = Buffer.from(JSON.stringify(call))
  if (wanted.headers['content-length'] !== undefined)
    wanted.headers['content-length'] = String(wanted.body.length)
}

/** Deletes a gateway's learned refusals from its data directory. */
const forget = (data: string): void => rmSync(join(data, 'learned-refusals.json'), { force: true })
/** Time until the reference reads the file again, with a margin. */
const NOTICED_MS = 1_100

export const gateways = {
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
  'loops-on-a-refusal': {
    what: 'The gateway sends a refused request repeatedly without changing it.',
    caughtBy: ['FIT-08/at-most-once-more'],
    hooks: {
      async request(wanted, context) {
        await sent(wanted, context, 3)
      },
    },
  },
  'adjusts-without-a-word': {
    what: 'The gateway leaves out a refused parameter on its second attempt without informing the client.',
    caughtBy: ['FIT-08/says-what-it-left-out'],
    hooks: {
      async request(wanted, context) {
        if (await sent(wanted, context, 1)) cooled(wanted)
      },
    },
  },
  'forgets-what-it-learned': {
    what: 'A parameter that the provider refused is sent again with the next call.',
    caughtBy: ['FIT-09/remembered'],
    hooks: {
      async request(wanted, { directory }) {
        if (callIn(wanted)?.temperature === undefined) return
        forget(join(directory, 'data'))
        await sleep(NOTICED_MS)
      },
    },
  },
  'forgets-when-it-restarts': {
    what: 'Learned refusals are stored only in memory, although the target file declares that they survive a restart.',
    caughtBy: ['FIT-09/over-a-restart'],
    hooks: { before: forget },
  },
} satisfies Readonly<Record<string, MustFail>>
