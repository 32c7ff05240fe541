// SRV-11: Embeddings are one vector for each text, in order, with usage. All vectors have the same length and
// consist of numbers, in base64 if the client requests it (SHOULD).

import { ref } from '../dialects/lookup.ts'
import type { Exchange } from '../evidence/evidence.ts'
import type { AnyJson } from '../evidence/reading.ts'
import { step } from '../evidence/step.ts'
import { type Check, type Finding, finding } from '../runner/check.ts'
import { ANSWER_TIMEOUT_MS, answered, isTokenCount, jsonIn } from './server.ts'

const call = step<{ inputs: number; base64: boolean }>('call')

export const vectorsHaveTheirShape = {
  id: 'SRV-11',
  needs: ['embeddings'],
  dialect: 'embeddings',
  async exercise(session) {
    for (const [inputs, base64] of [
      [1, false],
      [2, false],
      [1, true],
    ] as const)
      await session.chat(call.with({ inputs, base64 }), {
        body: {
          ...(inputs === 2 && { input: ['One text.', 'Another text, which is longer.'] }),
          ...(base64 && { encoding_format: 'base64' }),
        },
        timeout: ANSWER_TIMEOUT_MS,
      })
  },
  judge: ({ evidence }) => call.in(evidence).flatMap((exchange) => findingsOf(exchange, exchange.details)),
} satisfies Check

function findingsOf(
  exchange: Exchange,
  { inputs, base64 }: { readonly inputs: number; readonly base64: boolean },
): Finding[] {
  const { data, usage } = jsonIn(exchange)
  const entries: AnyJson[] = Array.isArray(data) ? data : []
  const vectors = entries.map(({ embedding }) => (base64 ? floatsIn(embedding) : embedding))
  const lengths = new Set(vectors.map((vector) => (isVector(vector) ? vector.length : 0)))
  const what = base64 ? 'vectors in base64' : `vectors of ${inputs} texts`
  const see = [ref(exchange)]
  return [
    answered(exchange, `a call for ${what}`),
    finding(
      'one-vector-each-in-order',
      entries.length === inputs && entries.every(({ index }, place) => index === place),
      what,
      {
        expected: `${inputs}, in order`,
        actual: `${entries.length}: ${entries.map(({ index }) => index).join(', ')}`,
      },
      see,
    ),
    // The official clients request base64 by default, and also accept lists of numbers.
    {
      ...finding(
        'vectors-are-numbers',
        lengths.size === 1 && !lengths.has(0),
        `lengths of the ${what}`,
        { expected: 'one length', actual: [...lengths].join(', ') || 'none' },
        see,
      ),
      ...(base64 && { advice: true }),
    },
    finding(
      'has-counts',
      isTokenCount(usage?.prompt_tokens) && usage.prompt_tokens > 0,
      `usage of ${what}`,
      { expected: 'tokens of the input', actual: JSON.stringify(usage) ?? 'none' },
      see,
    ),
  ]
}

const isVector = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every((each) => Number.isFinite(each))

/** Reads little-endian floats in base64; returns a list unchanged. */
function floatsIn(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const bytes = Buffer.from(value, 'base64')
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readFloatLE(4 * index))
}
