// Must-fail gateways that are wrong in several dialects other than chat, in translations, or in embeddings.

import { eachBody, isEmbeddings } from '../dialect-hooks.ts'
import { changeJson, type MustFail } from '../gateway.ts'

export const mustFail = {
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
} satisfies Record<string, MustFail>
