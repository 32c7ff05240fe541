// DIAL-06: Across dialects, the result of a tool call returns to the provider under the id of that call. (Waybill:
// the ids that the client gets match `^[a-zA-Z0-9_-]{1,40}$`, and the provider gets its own ids back.)
import { isDeepStrictEqual } from 'node:util'
import { modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed, readAnswer } from '../dialects/registry.ts'
import type { AnyJson } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  calls: step<{ model: string }>('the model calls tools'),
  results: step<{ model: string }>('the client returns results'),
}

/** Calls with ids in the style of some models; not every dialect allows `.` and `:` in an id. */
const CALLS = ['functions.look:0', 'functions.look:1'].map((id) => ({ id, name: 'look', arguments: {} }))
const FITS = /^[a-zA-Z0-9_-]{1,40}$/

/** Returns every object in a request. */
const objects = (value: unknown): AnyJson[] =>
  typeof value !== 'object' || value === null
    ? []
    : [...(Array.isArray(value) ? [] : [value as AnyJson]), ...Object.values(value).flatMap(objects)]

/** Returns the ids of calls, and the ids to which results refer, in the format of each dialect. */
function idsIn(body: unknown): { calls: string[]; results: string[] } {
  const all = objects(body)
  return {
    calls: all.flatMap(({ type, tool_calls, id, call_id }) =>
      Array.isArray(tool_calls)
        ? tool_calls.map((call: AnyJson) => call?.id)
        : type === 'tool_use'
          ? [id]
          : type === 'function_call'
            ? [call_id]
            : [],
    ),
    results: all.flatMap(({ type, role, tool_call_id, tool_use_id, call_id }) =>
      role === 'tool'
        ? [tool_call_id]
        : type === 'tool_result'
          ? [tool_use_id]
          : type === 'function_call_output'
            ? [call_id]
            : [],
    ),
  }
}

export const toolIds = {
  id: 'DIAL-06',
  needs: ['messages'],
  dialect: 'messages',
  timeout: 60_000,
  async exercise(session) {
    const tools = [{ name: 'look', input_schema: { type: 'object' } }]
    for (const model of modelsOf(session)) {
      const said = await session.chat(steps.calls.with({ model }), {
        model,
        body: { tools },
        script: [{ say: { calls: CALLS } }],
      })
      const ids = readAnswer(said).tools.map(({ id }) => id)
      await session.chat(steps.results.with({ model }), {
        model,
        body: {
          tools,
          messages: [
            { role: 'user', content: 'Look.' },
            {
              role: 'assistant',
              content: ids.map((id) => ({ type: 'tool_use', id, name: 'look', input: {} })),
            },
            {
              role: 'user',
              content: [
                ...ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'seen' })),
                { type: 'text', text: 'Go on. {nonce}' },
              ],
            },
          ],
        },
      })
    }
  },
  judge: ({ evidence, waybill }) => [
    ...steps.calls.in(evidence).flatMap((exchange) => {
      const entry = servedBy(evidence, exchange)
      if (!waybill || entry === null || !isCrossed(exchange, entry)) return []
      const ids = readAnswer(exchange).tools.map(({ id }) => id)
      return [
        finding(
          'ids-fit',
          ids.length === CALLS.length && ids.every((id) => FITS.test(id)),
          `the ids of "${stepText(exchange)}" for the client`,
          { expected: `${CALLS.length} that match ${FITS.source}`, actual: listed(ids) },
          refs(exchange, entry),
        ),
      ]
    }),
    ...steps.results.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const { calls, results } = idsIn(entry?.body)
      const own = CALLS.map(({ id }) => id)
      const exact = waybill && entry !== null && isCrossed(exchange, entry)
      return finding(
        'results-find-their-calls',
        new Set(calls).size === CALLS.length &&
          isDeepStrictEqual(calls.toSorted(), results.toSorted()) &&
          (!exact || isDeepStrictEqual(calls, own)),
        `the ids in the provider's request of "${stepText(exchange)}"`,
        {
          expected: exact
            ? `${listed(own)}, of calls and of results`
            : 'two, the same of calls and of results',
          actual: `calls ${listed(calls)}; results ${listed(results)}`,
        },
        refs(exchange, entry),
      )
    }),
  ],
} satisfies Check
