// FLOW-08: Tool-call indexes stay distinct and stable; joined arguments equal the provider's.
import { isDeepStrictEqual } from 'node:util'
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { readChat } from '../reading.ts'
import { streamEach } from './flow.ts'

export const toolCallsStayApart = {
  id: 'FLOW-08',
  exercise: streamEach('tools', 'tools-parallel'),
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const [got, sent] = [readChat(exchange.body).tools, readChat(entry?.answer.body ?? '').tools]
      const ok = sent.length > 0 && isDeepStrictEqual(got, sent)
      return finding(
        'same-tool-calls',
        ok,
        `${exchange.label}: ${got.length} tool calls, the provider sent ${sent.length}; ids, names and arguments are ${ok ? 'equal' : 'not equal'}`,
        refs(exchange, entry),
      )
    }),
} satisfies Check
