import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import type { z } from 'zod'
import { openAiResponsesBody } from '../dialects/openai-responses.ts'
import { exchangesOf } from '../import/read.ts'
import { CAPTURES, withoutCaptures } from '../import/test-captures.ts'
import { endpointOf } from '../provider.ts'
import { geminiCountTokensBody, geminiGenerateBody } from '../providers/gemini.ts'
import { openAiImagesBody } from '../providers/openai.ts'
import { placeAt, providers } from '../providers/registry.ts'
import { anthropicCountTokensBody, anthropicMessagesBody } from './anthropic-messages.ts'

const user = { role: 'user', content: 'Where to?' }
const message = { model: 'm', max_tokens: 1, messages: [user] }
const contents = [{ role: 'user', parts: [{ text: 'Where to?' }] }]
const config = (generationConfig: object) => ({ contents, generationConfig })
const response = { model: 'm', input: 'Where to?' }

/** Schema, valid body, and changes that make the body invalid, by the name of the wrong field. */
const table: [string, z.ZodObject, object, Record<string, object>][] = [
  [
    'messages',
    anthropicMessagesBody,
    message,
    {
      model: { ...message, model: undefined },
      max_tokens: { ...message, max_tokens: undefined },
      'messages.0.role': { ...message, messages: [{ ...user, role: 'tool' }] },
      'messages.0.content': { ...message, messages: [{ ...user, content: [] }] },
      'messages.0.content.0.text': { ...message, messages: [{ ...user, content: [{ type: 'text' }] }] },
      temperature: { ...message, temperature: 1.5 },
      'thinking.budget_tokens': { ...message, thinking: { type: 'enabled', budget_tokens: 1 } },
      'tools.0.name': { ...message, tools: [{ name: 'no spaces', input_schema: { type: 'object' } }] },
      stop_sequences: { ...message, stop_sequences: 'stop' },
    },
  ],
  [
    'count_tokens',
    anthropicCountTokensBody,
    { model: 'm', messages: [user] },
    { messages: { model: 'm', messages: [] } },
  ],
  [
    'generateContent',
    geminiGenerateBody,
    { contents },
    {
      contents: { contents: 'Where to?' },
      'contents.0.role': { contents: [{ ...contents[0], role: 'assistant' }] },
      'generationConfig.temperature': config({ temperature: 3 }),
      'generationConfig.maxOutputTokens': config({ maxOutputTokens: 0 }),
      'generationConfig.topP': config({ topP: '1' }),
    },
  ],
  ['countTokens', geminiCountTokensBody, { contents }, { contents: { contents: [] } }],
  [
    'responses',
    openAiResponsesBody,
    response,
    {
      model: { input: 'Where to?' },
      input: { ...response, input: 3 },
      'input.0.call_id': { ...response, input: [{ type: 'function_call_output', output: 'mild' }] },
      temperature: { ...response, temperature: 2.5 },
      max_output_tokens: { ...response, max_output_tokens: 1 },
      'tools.0.name': { ...response, tools: [{ type: 'function', function: { name: 'nested' } }] },
    },
  ],
  [
    'images',
    openAiImagesBody,
    { prompt: 'A waybill.' },
    { prompt: {}, n: { prompt: 'p', n: 11 }, size: { prompt: 'p', size: 'large' } },
  ],
]

for (const [name, schema, right, wrongs] of table)
  test(`${name}: a valid request passes, and the error of an invalid request names the field`, () => {
    assert.deepEqual(schema.safeParse(right).error?.issues, undefined)
    for (const [field, wrong] of Object.entries(wrongs))
      assert.deepEqual(
        [...new Set(schema.safeParse(wrong).error?.issues.map(({ path }) => path.join('.')))],
        [field],
      )
  })

test('captured requests that real providers accepted are valid and have no unknown field', {
  skip: withoutCaptures,
}, (t) => {
  let valid = 0
  const problems = new Set<string>()
  const files = new Set(
    readFileSync(join(CAPTURES, 'index.tsv'), 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => line.split('\t')[0]!),
  )
  for (const file of files)
    for (const { url, method, status, requestBody } of exchangesOf(
      file,
      readFileSync(join(CAPTURES, file), 'utf8'),
    )) {
      const place = status < 400 && URL.canParse(url) && placeAt(providers, new URL(url))
      if (!place || !requestBody?.startsWith('{')) continue
      const body = endpointOf(place.provider, method, place.path)?.endpoint.body
      if (!body) continue
      const json = JSON.parse(requestBody)
      const { error } = body.safeParse(json)
      const at = `${place.provider.name} ${place.path}`
      for (const issue of error?.issues ?? [])
        problems.add(`${at}: ${issue.path.join('.')}: ${issue.message}`)
      for (const field of Object.keys(json))
        if (!(field in body.shape) && place.provider.unknownField(field) !== null)
          problems.add(`${at}: unknown field ${field}`)
      if (!error) valid++
    }
  t.diagnostic(`${valid} real requests are valid`)
  assert.deepEqual([...problems], [])
  assert.ok(valid >= 500)
})
