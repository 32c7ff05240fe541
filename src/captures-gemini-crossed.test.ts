// Real traffic of Gemini, recorded by other projects, into other dialects and back: what was asked, and what was answered,
// whole and streamed, is there or its loss is named. The captures are optional and are read where they lie.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { capturedCalls, withoutCaptures } from '../mocks/import/test-captures.ts'
import type { Block, Conversation, Peer } from './dialects/blocks.ts'
import { DIALECTS } from './dialects/registry.ts'
import { translating } from './dialects/translate.ts'
import { Losses } from './losses.ts'
import { EventReader } from './providers/event-reader.ts'

const PATH = /\/models\/[^/]+:(generateContent|streamGenerateContent)$/
const PROVIDER = { family: 'google', host: 'localhost' }

/** What of blocks is compared: texts that follow each other are one, reasoning and ids are left to the losses. */
const gist = (blocks: readonly Block[]): unknown[] => {
  const out: unknown[] = []
  for (const block of blocks)
    if (block.type === 'text') {
      const last = out.at(-1)
      if (typeof last === 'string') out[out.length - 1] = last + block.text
      else out.push(block.text)
    } else if (block.type === 'call') out.push([block.name, JSON.parse(block.args || '{}')])
    else if (block.type === 'result') out.push(['result', ...gist(block.blocks)])
    else if (block.type === 'image' || block.type === 'document') out.push([block.type])
  return out
}
const gistOf = ({ turns, tools }: Conversation) => ({
  turns: turns.map(({ role, blocks }) => [role, gist(blocks)]),
  tools: tools.map(({ name, description }) => [name, description]),
})

for (const to of ['chat', 'messages'] as const)
  test(`captures of Gemini into ${to} and back: equal or named (DIAL-04)`, { skip: withoutCaptures }, (t) => {
    const table = new Map<string, { equal: number; named: number }>()
    const silent: string[] = []
    const note = (name: string, kind: string, losses: Losses, before: unknown, after: unknown) => {
      const row = table.get(kind) ?? { equal: 0, named: 0 }
      table.set(kind, row)
      if (JSON.stringify(before) === JSON.stringify(after)) row.equal++
      else if (losses.list().length > 0) row.named++
      else silent.push(`${name} ${kind}: ${JSON.stringify(before)} became ${JSON.stringify(after)}`)
    }
    const { gemini, [to]: other } = DIALECTS
    for (const { name, interaction } of capturedCalls(PATH)) {
      const losses = new Losses()
      const asked = gemini.blocks.parseRequest(JSON.parse(interaction.requestBody ?? '{}'), null, losses)
      const peer: Peer = { family: 'other', host: 'localhost', model: 'm', takesReasoning: true }
      const body = JSON.parse(JSON.stringify(other.blocks.writeRequest(asked, peer, losses)))
      const back = other.blocks.parseRequest(body, { forwarded: [] }, new Losses())
      note(name, 'request', losses, gistOf(asked), gistOf(back))
      // A stream that is a list is never asked of a provider on behalf of others.
      if (interaction.status !== 200 || interaction.responseBody.toString('utf8').trimStart().startsWith('['))
        continue

      const isStream = interaction.path.endsWith(':streamGenerateContent')
      const translation = translating(other, gemini, PROVIDER).translation!()
      const text = JSON.stringify({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] })
      const request = { model: 'm', stream: isStream, text, wantsUsage: true, forwarded: [], query: '' }
      translation.request(request, 'm', { basePath: '', key: null })
      const sent = interaction.responseBody.toString('utf8')
      const answerLosses = new Losses()
      const own = { ...peer, family: 'google' }
      if (isStream) {
        const native = new EventReader(gemini.upstream.openStream())
        const reader = new EventReader(translation.openStream())
        const bytes = Buffer.from(sent)
        const tokens = native.push(bytes).findLast(({ parsed }) => parsed?.tokens)?.parsed?.tokens
        const written = [...reader.push(bytes), ...reader.rest()].map((part) => part.bytes)
        const again = new EventReader(other.upstream.openStream())
        const read = again.push(Buffer.concat(written))
        const usage = read.findLast(({ parsed }) => parsed?.tokens)?.parsed?.tokens
        note(
          name,
          'stream: usage',
          answerLosses,
          [tokens?.input, tokens?.output],
          [usage?.input, usage?.output],
        )
        assert.ok(
          read.some(({ parsed }) => parsed?.finished),
          `${name}: it ends`,
        )
      } else {
        const parsed = translation.readAnswer(sent)
        const json = JSON.parse(parsed.sent!.toString('utf8'))
        for (const word of translation.losses) answerLosses.add(word)
        const before = gemini.blocks.parseAnswer(JSON.parse(sent), own, new Losses())
        const after = other.blocks.parseAnswer(json, own, new Losses())
        note(name, 'answer: blocks', answerLosses, gist(before.blocks), gist(after.blocks))
        note(name, 'answer: stop', answerLosses, before.stop ?? 'end', after.stop)
        const { tokens } = gemini.upstream.readAnswer(sent)
        const usage = other.upstream.readAnswer(JSON.stringify(json)).tokens
        note(
          name,
          'answer: usage',
          answerLosses,
          [tokens?.input, tokens?.output],
          [usage?.input, usage?.output],
        )
      }
    }
    for (const [kind, { equal, named }] of table) t.diagnostic(`${kind}: ${equal} equal, ${named} named`)
    assert.deepEqual(silent, [])
  })
