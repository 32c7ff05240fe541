// Must-fail gateways for the checks of ROUTE and CAT: where calls go, and the list of models.
import { after, stray } from '../../../src/shared/boundary.ts'
import { callIn, changeJson, failWith, type MustFail } from '../gateway.ts'
import type { HookContext } from '../wire.ts'

export const gateways = {
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
  'bare-catalog': {
    what: 'The model list is a bare array.',
    caughtBy: ['CAT-01'],
    hooks: {
      body: (body, { path }) => (path === '/v1/models' ? changeJson(body, (json) => json.data) : body),
    },
  },
  'catalog-by-session': {
    what: 'The model list has one more entry for requests with a session.',
    caughtBy: ['CAT-03'],
    hooks: {
      body: (body, { path, headers }) =>
        path === '/v1/models' && headers['x-gateway-session-id']
          ? changeJson(body, (json) => ({
              ...json,
              data: [...json.data, { ...json.data[0], id: 'last-used' }],
            }))
          : body,
    },
  },
  'catalog-counts-calls': {
    what: 'The model list changes after a call.',
    caughtBy: ['CAT-03'],
    hooks: {
      body: (body, { path }, { count }) =>
        path === '/v1/models' ? changeJson(body, (json) => ({ ...json, used: count })) : body,
    },
  },
  'lists-now-and-then': {
    what: 'Every third read of the catalog is refused.',
    caughtBy: ['CAT-03/readings-are-answered'],
    hooks: () => {
      let readings = 0
      return {
        request: ({ path }) => (path === '/v1/models' && ++readings % 3 === 0 ? failWith(503) : undefined),
      }
    },
  },
} satisfies Readonly<Record<string, MustFail>>
