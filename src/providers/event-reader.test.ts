import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chat } from '../dialects/chat/chat.ts'
import { EventReader } from './event-reader.ts'

const chunk = (content: string) =>
  `data: ${JSON.stringify({ model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}`

for (const [name, end] of Object.entries({ LF: '\n', 'CR LF': '\r\n', CR: '\r' }))
  test(`lines that end in ${name} are read with any chunk boundary, even between CR and LF (FLOW-02)`, () => {
    const bytes = Buffer.from(
      [chunk('one'), chunk('two'), 'data: [DONE]'].map((line) => line + end + end).join(''),
    )
    for (let size = 1; size <= bytes.length; size++) {
      const reader = new EventReader(chat.upstream.openStream())
      const events = []
      for (let at = 0; at < bytes.length; at += size)
        events.push(...reader.push(Buffer.from(bytes.subarray(at, at + size))))
      const said = events.filter(({ parsed }) => parsed !== null)
      assert.deepEqual(
        said.map(({ parsed }) => [parsed!.model, parsed!.done, parsed!.error]),
        [
          ['m', false, null],
          ['m', false, null],
          [null, true, null],
        ],
        `in chunks of ${size}`,
      )
      assert.equal(Buffer.concat(events.map((event) => event.bytes)).toString(), bytes.toString())
    }
  })
