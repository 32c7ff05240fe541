// FLOW-02: Chunk boundaries do not matter: splits inside a UTF-8 character, inside `data:`, between CR and LF.
import type { Step } from '../../mocks/script.ts'
import type { Check } from '../check.ts'
import { DONE, delta } from '../scripted.ts'
import { sameAnswer, streamEach } from './flow.ts'

/** A stream whose characters of more than one byte, and the word `data`, arrive in two pieces. */
function splitSlowly(): Step[] {
  const text = [delta('naïve'), delta(' 🙂 '), delta('', 'stop'), DONE]
    .map(({ data }) => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
    .join('')
  const bytes = Buffer.from(text)
  const cuts = [...bytes.keys()].filter(
    (at) => bytes[at]! >> 6 === 0b10 || bytes.subarray(at - 2, at + 3).toString() === 'data:',
  )
  return [0, ...cuts].flatMap((from, index): Step[] => [
    { base64: bytes.subarray(from, cuts[index] ?? bytes.length).toString('base64') },
    { wait: 10 },
  ])
}

export const boundariesDoNotMatter = {
  id: 'FLOW-02',
  async exercise(session) {
    await streamEach('per-byte', 'split-utf8', 'split-data', 'crlf')(session)
    // Writes that follow each other may arrive as one. With a pause between them they do not.
    await session.chat('split slowly', { stream: true, script: [{ events: splitSlowly() }], timeout: 30_000 })
  },
  judge: ({ evidence }) => evidence.exchanges.map((exchange) => sameAnswer(evidence, exchange)),
} satisfies Check
