// Must-fail gateways for the checks of ROUTE.
import { after, stray } from '../../../src/shared/boundary.ts'
import { callIn, type MustFail, onCall, onRead } from '../gateway.ts'
import type { HookContext } from '../wire.ts'

export const mustFail = {
  'cheapest-is-the-first': {
    what: 'The strategy cheapest picks the first target.',
    caughtBy: ['ROUTE-10'],
    hooks: {
      config: (text) => text.replace('cheapest: { strategy: cheapest', 'cheapest: { strategy: priority'),
    },
  },
  'direct-ids-fall-back': {
    what: 'A failed call with a direct id is sent to another target.',
    caughtBy: ['ROUTE-02'],
    hooks: {
      async request(wanted, { gateway }) {
        const call = callIn(wanted)
        if (!String(call?.model).startsWith('openai/')) return
        const answer = await gateway(wanted)
        if (answer.status < 500) return answer
        const again = { ...call, model: 'groq/openai/gpt-oss-120b' }
        return gateway({ ...wanted, body: Buffer.from(JSON.stringify(again)) })
      },
    },
  },
  'drops-the-seed': {
    what: 'The field seed does not reach the provider.',
    caughtBy: ['ROUTE-05'],
    hooks: {
      request: onCall(({ seed: _, ...rest }) => rest),
    },
  },
  'emergency-fallback': {
    what: 'The gateway calls a model outside the route after every target has failed.',
    caughtBy: ['ROUTE-04'],
    hooks: {
      async request(wanted, { gateway }) {
        const call = callIn(wanted)
        if (!call || call.stream) return
        const answer = await gateway(wanted)
        if (answer.status < 500) return answer
        const again = { ...call, model: 'openai/gpt-emergency' }
        return gateway({ ...wanted, body: Buffer.from(JSON.stringify(again)) })
      },
    },
  },
  'falls-back-after-400': {
    what: 'A request that the provider rejects with 400 is also sent to the next target.',
    caughtBy: ['ROUTE-07'],
    hooks: {
      async request(wanted, { gateway }) {
        const call = callIn(wanted)
        if (call?.model !== 'auto' || call.stream) return
        const answer = await gateway(wanted)
        if (answer.status !== 400) return answer
        const again = { ...call, model: 'groq/openai/gpt-oss-120b' }
        return gateway({ ...wanted, body: Buffer.from(JSON.stringify(again)) })
      },
    },
  },
  'fastest-is-the-first': {
    what: 'The strategy fastest does not measure latency.',
    caughtBy: ['ROUTE-10'],
    hooks: {
      config: (text) => text.replace('fastest: { strategy: fastest', 'fastest: { strategy: priority'),
    },
  },
  'favourite-model': {
    what: 'A call to a route with one target goes to another target.',
    caughtBy: ['ROUTE-01'],
    hooks: {
      request: onCall((call) =>
        call.model === 'auto/single' ? { ...call, model: 'groq/openai/gpt-oss-120b' } : call,
      ),
    },
  },
  'first-answer-for-all': {
    what: 'Every call gets the answer to the first call.',
    caughtBy: ['ROUTE-01', 'ROUTE-06', 'FLOW-01'],
    hooks: () => {
      const first = new Map<boolean, Awaited<ReturnType<HookContext['gateway']>>>()
      return {
        async request(wanted, { gateway }) {
          const call = callIn(wanted)
          if (!call) return
          const kept = first.get(call.stream === true) ?? (await gateway(wanted))
          first.set(call.stream === true, kept)
          return kept
        },
      }
    },
  },
  'ignores-capabilities': {
    what: "The gateway chooses a target regardless of the call's needs.",
    caughtBy: ['ROUTE-12'],
    hooks: {
      config: (text) => text.replace(/capabilities: \{[^}]*\}/g, ''),
    },
  },
  'ignores-retry-after': {
    what: 'The gateway does not honour a provider’s Retry-After.',
    caughtBy: ['ROUTE-09'],
    hooks: {
      upstream: {
        responseStart({ headers }) {
          delete headers['retry-after']
        },
      },
    },
  },
  'least-busy-draws': {
    what: 'The strategy least-busy picks at random.',
    caughtBy: ['ROUTE-10'],
    hooks: {
      config: (text) => text.replace('least-busy: { strategy: least-busy', 'least-busy: { strategy: random'),
    },
  },
  'least-busy-is-the-first': {
    what: 'The strategy least-busy ignores load.',
    caughtBy: ['ROUTE-10'],
    hooks: {
      config: (text) =>
        text.replace('least-busy: { strategy: least-busy', 'least-busy: { strategy: priority'),
    },
  },
  'least-busy-takes-turns': {
    what: 'The strategy least-busy rotates through the targets.',
    caughtBy: ['ROUTE-10'],
    hooks: {
      config: (text) =>
        text.replace('least-busy: { strategy: least-busy', 'least-busy: { strategy: round-robin'),
    },
  },
  'never-falls-back': {
    what: 'The gateway tries no other target after a failure.',
    caughtBy: ['ROUTE-07'],
    hooks: {
      request: onCall((call) => (call.model === 'auto' ? { ...call, model: 'auto/single' } : call)),
    },
  },
  'priority-takes-turns': {
    what: 'The strategy priority does not begin with the first target.',
    caughtBy: ['ROUTE-10'],
    hooks: {
      config: (text) => text.replace('priority: { targets', 'priority: { strategy: round-robin, targets'),
    },
  },
  'probes-the-cooling': {
    what: 'A cooling target is probed with a call.',
    caughtBy: ['ROUTE-09'],
    hooks: {
      upstream: {
        responseStart({ status }, { spend }) {
          if (status === 429) after(1_200, () => spend().catch(() => {}), stray).unref()
        },
      },
    },
  },
  'random-is-the-first': {
    what: 'The strategy random always picks the first target.',
    caughtBy: ['ROUTE-10'],
    hooks: {
      config: (text) => text.replace('random: { strategy: random', 'random: { strategy: priority'),
    },
  },
  'reroutes-direct-ids': {
    what: 'A direct provider/model id is sent through the routing table.',
    caughtBy: ['ROUTE-02'],
    hooks: {
      request: onCall((call) => (String(call.model).startsWith('groq/') ? { ...call, model: 'auto' } : call)),
    },
  },
  'resolve-guesses-chances': {
    what: 'The resolve endpoint gives every candidate the same probability.',
    caughtBy: ['ROUTE-11'],
    hooks: {
      body: (body, { path }) =>
        path.startsWith('/api/cloud/model/resolve')
          ? body.replace(/"probability":\s*[\d.]+/g, '"probability":0.3333')
          : body,
    },
  },
  'resolve-is-always-sure': {
    what: 'The resolve endpoint reports a random choice as deterministic.',
    caughtBy: ['ROUTE-11'],
    hooks: {
      body: onRead('/api/cloud/model/resolve', (json) => ({ ...json, deterministic: true })),
    },
  },
  'resolve-is-an-optimist': {
    what: 'The resolve endpoint reports a cooling target as ready.',
    caughtBy: ['ROUTE-09'],
    hooks: {
      body: (body, { path }) =>
        path.startsWith('/api/cloud/model/resolve') ? body.replaceAll('"cooling"', '"ready"') : body,
    },
  },
  'resolve-names-the-next-but-one': {
    what: 'The resolve endpoint names the second candidate.',
    caughtBy: ['ROUTE-11'],
    hooks: {
      body: onRead('/api/cloud/model/resolve', (json) => {
        const { provider, model } = json.candidates?.[1] ?? {}
        return provider ? { ...json, provider, resolved_model: model } : json
      }),
    },
  },
  'rests-nobody': {
    what: 'The next call tries a failed target again.',
    caughtBy: ['ROUTE-09'],
    hooks: {
      config: (text) => (text.includes('resilience:') ? text : `${text}resilience: { cooldown: 0s }\n`),
      upstream: {
        responseStart({ headers }) {
          delete headers['retry-after']
        },
      },
    },
  },
  'retries-after-the-start': {
    what: 'The gateway repeats a request after its stream was cut off.',
    caughtBy: ['ROUTE-08'],
    hooks: {
      cut: async (wanted, { gateway }) => (await gateway(wanted)).body,
    },
  },
  'round-robin-is-random': {
    what: 'The strategy round-robin does not rotate through the targets.',
    caughtBy: ['ROUTE-10'],
    hooks: {
      config: (text) =>
        text.replace('round-robin: { strategy: round-robin', 'round-robin: { strategy: random'),
    },
  },
  'rounds-numbers': {
    what: 'The gateway rounds fractions in requests.',
    caughtBy: ['ROUTE-05'],
    hooks: {
      request: onCall((call) =>
        typeof call.temperature === 'number' ? { ...call, temperature: Math.round(call.temperature) } : call,
      ),
    },
  },
  'sends-both-limits': {
    what: 'The forwarded request is not valid for the provider.',
    caughtBy: ['ROUTE-05'],
    hooks: {
      upstream: {
        request(wanted) {
          if (wanted.body.length > 0)
            wanted.body = Buffer.from(wanted.body.toString().replace(/\}$/, ',"top_logprobs":"many"}'))
        },
      },
    },
  },
  'streams-never-fall-back': {
    what: 'After a failure, a streamed call is not sent to another target.',
    caughtBy: ['ROUTE-07'],
    hooks: {
      request: onCall((call) =>
        call.stream && call.model === 'auto' ? { ...call, model: 'auto/single' } : call,
      ),
    },
  },
  'strips-unknown-fields': {
    what: 'The gateway drops unknown request fields.',
    caughtBy: ['ROUTE-06'],
    hooks: {
      request: onCall(({ x_waybill_probe: _, ...rest }) => rest),
    },
  },
  'knows-no-young-fields': {
    what: 'The gateway drops a field that OpenAI added recently.',
    caughtBy: ['ROUTE-05/young-fields-arrive'],
    hooks: {
      request: onCall(({ prompt_cache_key: _, ...rest }) => rest),
    },
  },
  'unknown-goes-to-default': {
    what: 'An unknown model id is sent to the default route.',
    caughtBy: ['ROUTE-03'],
    hooks: {
      request: onCall((call) =>
        String(call.model).startsWith('no-such') ? { ...call, model: 'auto' } : call,
      ),
    },
  },
  'weights-are-equal': {
    what: 'The strategy weighted gives every target the same share.',
    caughtBy: ['ROUTE-10'],
    hooks: {
      config: (text) => text.replace(/weight: \d+/g, 'weight: 1'),
    },
  },
  'zero-is-no-temperature': {
    what: 'A temperature of 0 is sent as 1.',
    caughtBy: ['ROUTE-05'],
    hooks: {
      upstream: {
        request(wanted) {
          wanted.body = Buffer.from(
            wanted.body.toString('utf8').replace('"temperature":0,', '"temperature":1,'),
          )
        },
      },
    },
  },
  'unknown-is-our-fault': {
    what: 'An unknown model is answered with 500.',
    caughtBy: ['ROUTE-03/unknown-is-refused'],
    hooks: {
      responseStart(head, wanted) {
        if (callIn(wanted) && head.status === 404) head.status = 500
      },
    },
  },
  'limits-are-final': {
    what: 'A provider’s 429 ends the call, and the next target is not tried.',
    caughtBy: ['ROUTE-09/429-moves-on', 'ROUTE-07'],
    hooks: {
      upstream: {
        responseStart(head) {
          if (head.status === 429) head.status = 400
        },
      },
    },
  },
  'prefers-the-second': {
    what: 'A call that any target can serve goes to the second one.',
    caughtBy: ['ROUTE-12/plain-goes-first'],
    hooks: {
      config: (text) =>
        text.replace(
          '{ model: openai/no-tools }, { model: groq/no-images }',
          '{ model: groq/no-images }, { model: openai/no-tools }',
        ),
    },
  },
} satisfies Readonly<Record<string, MustFail>>
