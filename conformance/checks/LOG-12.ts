// LOG-12: No prompt, answer text or body appears in a list.
import { type Check, finding } from '../check.ts'
import { itemsOf, labelled, ref, refs } from '../lookup.ts'
import { readChat } from '../reading.ts'
import { answer, DONE, delta } from '../scripted.ts'
import { readLog } from './log.ts'

export const noContentInLists = {
  id: 'LOG-12',
  needs: ['log'],
  async exercise(session) {
    const words = [`asked${session.nonce()}`, `answered${session.nonce()}`] as const
    session.note('words', words)
    for (const stream of [false, true]) {
      const script = stream ? [{ events: [delta(words[1]), DONE] }] : [answer(words[1])]
      await session.chat('call', { stream, prompt: `Which way, ${words[0]}?`, script })
    }
    await session.wait(session.target.observability.log!.lag_ms)
    await readLog(session, 'log')
    for (const path of session.target.capabilities.read_paths)
      await session.ask('read', path, { key: session.running.keys.reader })
  },
  judge({ evidence, target }) {
    const words = evidence.facts.words as string[]
    const said = labelled(evidence, 'call').every(({ body }) => readChat(body).content.includes(words[1]!))
    const lists = [...labelled(evidence, 'log'), ...labelled(evidence, 'read')]
    const [log] = labelled(evidence, 'log')
    return [
      finding(
        'words-were-asked-and-answered',
        said && (itemsOf(target, log!)?.length ?? 0) > 0,
        'the words were asked and answered, and the log has records',
        refs(log),
      ),
      ...lists.map((exchange) => {
        const found = words.filter((word) => exchange.body.includes(word))
        return finding(
          'no-content-in-lists',
          found.length === 0,
          `${exchange.request.path} holds ${found.length === 0 ? 'neither prompt nor answer' : 'content'}`,
          [ref(exchange)],
        )
      }),
    ]
  },
} satisfies Check
