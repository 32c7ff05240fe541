// MSG-05: Thinking, its signature and redacted thinking arrive unchanged, before the content that follows them.
import { isDeepStrictEqual } from 'node:util'
import { refs, servedBy } from '../dialects/lookup.ts'
import { isCrossed } from '../dialects/registry.ts'
import { at } from '../evidence/reading.ts'
import { step, stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { blocksIn, message } from './messages.ts'

const steps = {
  told: step<{ stream: boolean }>('thoughts are told'),
  redacted: step('redacted thoughts are told'),
  returned: step('thoughts are returned'),
}

const THOUGHTS = [
  { type: 'thinking', thinking: 'first  this,\n then that', signature: 'c2lnbmVk/+==' },
  { type: 'redacted_thinking', data: 'c2VhbGVk/+==' },
]
const SAID = { type: 'text', text: 'said' }
const ANSWER = message({ content: [...THOUGHTS, SAID] })

/** Returns blocks without optional members of a text, such as `citations: null`. */
const bare = (blocks: unknown): unknown =>
  Array.isArray(blocks)
    ? blocks.map((block) => (block?.type === 'text' ? { type: 'text', text: block.text } : block))
    : blocks

export const thinkingUnchanged = {
  id: 'MSG-05',
  needs: ['messages'],
  dialect: 'messages',
  relays: true,
  async exercise(session) {
    for (const stream of [false, true])
      await session.chat(steps.told.with({ stream }), { stream, script: [{ scenario: 'reasoning' }] })
    await session.chat(steps.redacted, { script: [{ body: ANSWER }] })
    await session.chat(steps.returned, {
      body: {
        messages: [
          { role: 'user', content: 'Think.' },
          { role: 'assistant', content: [...THOUGHTS, SAID] },
          { role: 'user', content: 'Go on. {nonce}' },
        ],
      },
    })
  },
  judge: ({ evidence }) =>
    evidence.exchanges.flatMap((exchange) => {
      const back = exchange.step === steps.returned.step
      const entry = servedBy(evidence, exchange)
      if (entry && isCrossed(exchange, entry)) return []
      const [got, sent] = back
        ? [at(entry?.body, '/messages/1/content'), [...THOUGHTS, SAID]]
        : [blocksIn(exchange.body), blocksIn(entry?.answer.body ?? '')]
      return [
        finding(
          back ? 'thoughts-go-back' : 'thoughts-are-unchanged',
          isDeepStrictEqual(bare(got), bare(sent)) && (sent as unknown[]).length > 1,
          `the blocks of "${stepText(exchange)}"`,
          { expected: JSON.stringify(sent), actual: JSON.stringify(got) ?? 'none' },
          refs(exchange, entry),
        ),
      ]
    }),
} satisfies Check
