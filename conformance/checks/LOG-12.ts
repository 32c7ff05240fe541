// LOG-12: No prompt, answer text or body appears in a list of records.

import { itemsOf, ref, refs } from '../dialects/lookup.ts'
import { readAnswer } from '../dialects/registry.ts'
import { delta, END, scriptedAnswer } from '../dialects/scripted.ts'
import { step } from '../evidence/step.ts'
import { listed } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { readLog } from './log.ts'

const steps = {
  call: step('call'),
  read: step('read'),
  log: step('log'),
}

export const noContentInLists = {
  id: 'LOG-12',
  needs: ['list'],
  async exercise(session) {
    const words = [`asked${session.nonce()}`, `answered${session.nonce()}`] as const
    session.note('words', words)
    for (const stream of [false, true]) {
      const script = stream ? [{ events: [delta(words[1]), END] }] : [scriptedAnswer(words[1])]
      await session.chat(steps.call, { stream, prompt: `Which way, ${words[0]}?`, script })
    }
    await session.wait(session.target.observability.log!.lag_ms)
    await readLog(session, steps.log)
    for (const path of session.target.capabilities.read_paths)
      await session.ask(steps.read, path, { key: session.running.keys.reader })
  },
  judge({ evidence, target }) {
    const words = evidence.facts.words as string[]
    const said = steps.call.in(evidence).every((each) => readAnswer(each).content.includes(words[1]!))
    const lists = [...steps.log.in(evidence), ...steps.read.in(evidence)]
    const [log] = steps.log.in(evidence)
    return [
      finding(
        'words-were-asked-and-answered',
        said && (itemsOf(target, log!)?.length ?? 0) > 0,
        'the words of the calls, before the lists are searched for them',
        {
          expected: 'answered, and records in the log',
          actual: `${said ? '' : 'not '}answered, ${itemsOf(target, log!)?.length ?? 0} records`,
        },
        refs(log),
      ),
      ...lists.map((exchange) => {
        const found = words.filter((word) => exchange.body.includes(word))
        return finding(
          'no-content-in-lists',
          found.length === 0,
          `words of prompt and answer in ${exchange.request.path}`,
          { expected: 'none', actual: listed(found) },
          [ref(exchange)],
        )
      }),
    ]
  },
} satisfies Check
