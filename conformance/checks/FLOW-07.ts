// FLOW-07: One finish_reason per choice and one `[DONE]` where the provider's stream has them, nothing after.
import { isDeepStrictEqual } from 'node:util'
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { readChat } from '../reading.ts'
import { streamEach } from './flow.ts'

const endOf = ({ finish, done, afterDone }: ReturnType<typeof readChat>): string =>
  `finish reasons ${finish.map(({ reason }) => reason).join(', ') || 'none'}, ${done} [DONE]${afterDone ? ', and something after it' : ''}`

export const oneEnd = {
  id: 'FLOW-07',
  exercise: streamEach('plain', 'tools', 'finish-length', 'finish-content-filter'),
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const [got, sent] = [readChat(exchange.body), readChat(entry?.answer.body ?? '')]
      const ok =
        isDeepStrictEqual(got.finish, sent.finish) &&
        got.done === sent.done &&
        !got.afterDone &&
        sent.done === 1
      return finding('one-end', ok, `the end of the stream "${exchange.label}"`, refs(exchange, entry), {
        expected: `${endOf(sent)}, and nothing after it`,
        actual: endOf(got),
      })
    }),
} satisfies Check
