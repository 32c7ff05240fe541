// TELL-05: The gateway adds nothing to generated content.
import { type Check, finding } from '../check.ts'
import { refs, servedBy } from '../lookup.ts'
import { readChat } from '../reading.ts'

export const contentIsUntouched = {
  id: 'TELL-05',
  async exercise(session) {
    for (const scenario of ['plain', 'long', 'reasoning'])
      for (const stream of [false, true])
        await session.chat(`${scenario}${stream ? ', streamed' : ''}`, { stream, script: [{ scenario }] })
  },
  judge: ({ evidence }) =>
    evidence.exchanges.map((exchange) => {
      const entry = servedBy(evidence, exchange)
      const [got, sent] = [readChat(exchange.body), readChat(entry?.answer.body ?? '')]
      const ok = sent.content !== '' && got.content === sent.content
      return finding(
        'content-is-untouched',
        ok,
        `${exchange.label}: ${got.content.length} characters of content, the provider sent ${sent.content.length}${ok ? '' : ', and they differ'}`,
        refs(exchange, entry),
      )
    }),
} satisfies Check
