// Official clients read every deviation that ARR sends, at the provider directly, as the mock concludes.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { createMockProviders, type MockProviders } from '../../mocks/server/create.ts'
import { FAILED, WHOLE } from './arrive.ts'

const deviations = [WHOLE, FAILED].flatMap((each) =>
  Object.entries(each).flatMap(([dialect, ids]) => ids.map((id) => `${dialect}/${id}`)),
)
let mock: MockProviders
let openai: OpenAI
let google: GoogleGenAI
let anthropic: Anthropic

const ask = { model: 'm', messages: [{ role: 'user' as const, content: 'Where to?' }] }
const ENDS: Readonly<Record<string, string>> = {
  ...{ stop: 'stop', tool_calls: 'calls', length: 'length' },
  ...{ end_turn: 'stop', tool_use: 'calls', max_tokens: 'length' },
}

async function readChat() {
  const { choices, usage } = await openai.chat.completions.stream(ask).finalChatCompletion()
  const { message, finish_reason } = choices[0]!
  return {
    text: message.content ?? '',
    calls: (message.tool_calls ?? []).flatMap((call) =>
      'function' in call
        ? [{ name: call.function.name, arguments: JSON.parse(call.function.arguments) }]
        : [],
    ),
    end: ENDS[finish_reason] ?? 'failed',
    usage: [usage?.prompt_tokens, usage?.completion_tokens],
  }
}

async function readMessage() {
  const { content, stop_reason, usage } = await anthropic.messages
    .stream({ ...ask, max_tokens: 9 })
    .finalMessage()
  const cached = (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0)
  return {
    text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    calls: content.flatMap((block) =>
      block.type === 'tool_use' ? [{ name: block.name, arguments: block.input }] : [],
    ),
    end: ENDS[stop_reason ?? ''] ?? 'failed',
    usage: [usage.input_tokens + cached, usage.output_tokens],
  }
}

async function readResponse() {
  const { output, output_text, status, usage } = await openai.responses
    .stream({ model: 'm', input: 'Where to?' })
    .finalResponse()
  const calls = output.flatMap((item) =>
    item.type === 'function_call' ? [{ name: item.name, arguments: JSON.parse(item.arguments) }] : [],
  )
  return {
    ...{ text: output_text, calls, usage: [usage?.input_tokens, usage?.output_tokens] },
    end: status === 'completed' ? (calls.length > 0 ? 'calls' : 'stop') : 'failed',
  }
}

async function readGemini() {
  let [text, reason]: [string, string | undefined] = ['', undefined]
  let usage: (number | undefined)[] = []
  const calls: object[] = []
  const stream = await google.models.generateContentStream({ model: 'm', contents: 'Where to?' })
  for await (const { candidates = [], usageMetadata } of stream) {
    const [candidate] = candidates
    for (const part of candidate?.content?.parts ?? []) {
      if (part.text && !part.thought) text += part.text
      if (part.functionCall)
        calls.push({ name: part.functionCall.name, arguments: part.functionCall.args ?? {} })
    }
    reason = candidate?.finishReason ?? reason
    const { promptTokenCount, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usageMetadata ?? {}
    if (usageMetadata) usage = [promptTokenCount, candidatesTokenCount + thoughtsTokenCount]
  }
  return { text, calls, usage, end: reason === 'STOP' ? (calls.length > 0 ? 'calls' : 'stop') : 'failed' }
}

async function readInteraction() {
  const steps: any[] = []
  let last: any = {}
  const call = { model: 'm', input: 'Where to?', stream: true as const }
  for await (const event of await google.interactions.create(call)) {
    if (event.event_type === 'error') throw new Error(event.error?.message)
    if (event.event_type === 'step.start') steps[event.index] = { ...event.step }
    else if (event.event_type === 'interaction.completed') last = event.interaction
    else if (event.event_type === 'step.delta') {
      const step = steps[event.index]
      if (event.delta.type === 'text') step.content = [...(step.content ?? []), event.delta]
      if (event.delta.type === 'arguments_delta') step.pieces = (step.pieces ?? '') + event.delta.arguments
    }
  }
  const { total_input_tokens, total_output_tokens, total_thought_tokens } = last.usage ?? {}
  return {
    text: steps
      .flatMap(({ type, content = [] }) =>
        type === 'model_output' ? content.map((each: any) => each.text) : [],
      )
      .join(''),
    calls: steps.flatMap(({ type, name, arguments: args, pieces }) =>
      type === 'function_call' ? [{ name, arguments: pieces ? JSON.parse(pieces) : args }] : [],
    ),
    end: { completed: 'stop', requires_action: 'calls' }[last.status as string] ?? 'failed',
    usage: [total_input_tokens, total_output_tokens + total_thought_tokens],
  }
}

const READERS = {
  ...{ chat: readChat, messages: readMessage, responses: readResponse, gemini: readGemini },
  interactions: readInteraction,
}

suite('official clients', () => {
  before(async () => {
    mock = await createMockProviders({ deviations, lenient: true, keys: 'any' })
    openai = new OpenAI({ baseURL: mock.baseUrl('openai'), apiKey: 'any', maxRetries: 0 })
    google = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: `${mock.url}/gemini` } })
    anthropic = new Anthropic({ baseURL: `${mock.url}/anthropic`, apiKey: 'any', maxRetries: 0 })
  })
  after(() => mock.close())

  for (const [dialect, read] of Object.entries(READERS)) {
    test(`the official client of ${dialect} reads each whole answer that ARR-01 sends`, async () => {
      for (const id of WHOLE[dialect]!) {
        const got = await read()
        const { text, calls, end, usage } = mock.entries().at(-1)!.answer.concludes!
        const { input, output } = usage === 'none' ? {} : (usage ?? {})
        assert.deepEqual(
          got,
          { text, calls, end, usage: input === undefined ? got.usage : [input, output] },
          id,
        )
      }
    })

    test(`the official client of ${dialect} takes no failed answer that ARR-02 sends for a whole one`, async () => {
      for (const id of FAILED[dialect]!) {
        const { end } = await read().catch(() => ({ end: 'failed' }))
        const { answer } = mock.entries().at(-1)!
        assert.equal(answer.from, `deviation:${dialect}/${id}`)
        assert.deepEqual([end, answer.concludes!.end], ['failed', 'failed'], id)
      }
    })
  }
})
