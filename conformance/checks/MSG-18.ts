// MSG-18: `cache_control` reaches providers of the Messages dialect unchanged, and reaches no other provider.
import { isDeepStrictEqual } from 'node:util'
import { modelsOf, refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { at } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'

/**
 * Step with one call for each model. The prompt begins with a line that names the client, and has a part to
 * cache.
 */
export const callPerModel = step<{ model: string }>('call')

export const LINE = 'x-anthropic-billing-header: cc_version=2.0.0; cc_entrypoint=cli;'
const CACHE = { type: 'ephemeral', ttl: '1h' }

export const cacheControl = {
  id: 'MSG-18',
  needs: ['messages'],
  dialect: 'messages',
  async exercise(session) {
    const system = [
      { type: 'text', text: LINE },
      { type: 'text', text: 'Be brief.', cache_control: CACHE },
    ]
    for (const model of modelsOf(session))
      await session.chat(callPerModel.with({ model }), { model, body: { system } })
  },
  judge: ({ evidence }) =>
    callPerModel.in(evidence).map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const crossed = entry !== null && isCrossed(exchange, entry)
      const got = at(entry?.body, '/system/1/cache_control')
      const there = JSON.stringify(entry?.body ?? null).includes('cache_control')
      return finding(
        'cache-control-goes-home-only',
        entry !== null && (crossed ? !there : isDeepStrictEqual(got, CACHE)),
        `cache_control in the provider's request of "${stepText(exchange)}"`,
        {
          expected: crossed ? 'none, it speaks another dialect' : JSON.stringify(CACHE),
          actual: JSON.stringify(got) ?? (there ? 'somewhere else' : 'none'),
        },
        refs(exchange, entry),
      )
    }),
} satisfies Check
