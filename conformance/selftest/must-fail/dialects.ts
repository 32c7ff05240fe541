// Must-fail gateways that are wrong in several dialects other than chat, in translations, or in embeddings.

import {
  changeRequest,
  eachBody,
  eachCallOf,
  eachResult,
  isEmbeddings,
  isMessages,
  isResponses,
  withoutMember,
} from '../dialect-hooks.ts'
import { changeJson, type MustFail } from '../gateway.ts'

export const mustFail = {
  'knows-all-fields-of-messages': {
    what: 'The gateway drops unknown fields in Messages calls.',
    caughtBy: ['DIAL-01', 'DIAL-02/unknown-parts-arrive'],
    hooks: changeRequest(isMessages, (json) => withoutMember(json, 'x_waybill_probe')),
  },
  'one-beta-only': {
    what: 'The provider receives only the first value of anthropic-beta.',
    caughtBy: ['DIAL-02/unknown-parts-arrive'],
    hooks: {
      request(wanted) {
        const { 'anthropic-beta': betas } = wanted.headers
        if (typeof betas === 'string') wanted.headers['anthropic-beta'] = betas.split(',')[0]!
      },
    },
  },
  'key-goes-along': {
    what: 'A gateway key reaches the provider in a header.',
    caughtBy: ['DIAL-02/credentials-stay'],
    hooks: {
      upstream: {
        request(wanted, context) {
          wanted.headers['x-forwarded-key'] = context.env.ADMIN_KEY!
        },
      },
    },
  },
  'messages-without-pings': {
    what: 'The gateway removes the provider’s pings from Messages streams.',
    caughtBy: ['DIAL-03'],
    hooks: {
      event: (event, _, wanted) => (isMessages(wanted) && event.startsWith('event: ping') ? [] : [event]),
    },
  },
  'first-input-only': {
    what: 'Only the first of several inputs is embedded.',
    caughtBy: ['EMB-01/input-is-unchanged'],
    hooks: changeRequest(isEmbeddings, (json) => ({
      ...json,
      input: Array.isArray(json.input) ? json.input[0] : json.input,
    })),
  },
  'sorts-vectors': {
    what: 'The gateway sorts vectors by index.',
    caughtBy: ['EMB-01/vectors-are-unchanged'],
    hooks: {
      body: eachBody(isEmbeddings, (json) => ({
        ...json,
        data: json.data?.toSorted((a: { index: number }, b: { index: number }) => a.index - b.index),
      })),
    },
  },
  'vectors-of-another-model': {
    what: 'The gateway calls another model if an embeddings provider fails.',
    caughtBy: ['EMB-02/no-other-model', 'EMB-02/no-other-model-of-the-route'],
    hooks: {
      async request(wanted, context) {
        if (!isEmbeddings(wanted)) return
        const first = await context.gateway(wanted)
        if (first.status < 500) return first
        wanted.body = Buffer.from(
          changeJson(wanted.body.toString('utf8'), (json) => ({
            ...json,
            model: 'openai/text-embedding-3-large',
          })),
        )
      },
    },
  },
  'losses-are-not-told': {
    what: 'Answers lack the header X-Gateway-Lossy.',
    caughtBy: ['DIAL-04/losses-are-named'],
    hooks: {
      responseStart(start) {
        delete start.headers['x-gateway-lossy']
      },
    },
  },
  'losses-do-not-matter': {
    what: 'A route that should refuse lossy translations translates anyway.',
    caughtBy: ['DIAL-04/losses-are-refused'],
    hooks: { config: (text) => text.replace('on_loss: refuse, ', '') },
  },
  'tool-ids-as-they-come': {
    what: 'Tool-call ids contain characters that Messages clients do not accept.',
    caughtBy: ['DIAL-06/ids-fit'],
    hooks: {
      body: eachBody(isMessages, (json) => eachCallOf(json, (call) => ({ ...call, id: `${call.id}:0` }))),
    },
  },
  'results-lose-their-calls': {
    what: 'Tool results reach the provider with different ids from those of their calls.',
    caughtBy: ['DIAL-06/results-find-their-calls'],
    hooks: changeRequest(isMessages, (json) =>
      eachResult(json, (result) => ({ ...result, tool_use_id: `result_${result.tool_use_id}` })),
    ),
  },
  'seals-do-not-come-back': {
    what: 'The gateway drops sealed reasoning from the input of a Responses call.',
    caughtBy: ['DIAL-08'],
    hooks: changeRequest(isResponses, (json) => ({
      ...json,
      input: Array.isArray(json.input)
        ? json.input.filter(({ type }: { type?: string }) => type !== 'reasoning')
        : json.input,
    })),
  },
} satisfies Record<string, MustFail>
