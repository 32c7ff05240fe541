// `waybill models prices` as a program: prices with their sources and dates, and what to write for a model
// without a price.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'

test('`waybill models prices` shows each price with its source and date, and filters all models of the providers', async (t) => {
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  writeFileSync(
    file,
    `providers:
  openai: { dialect: chat, base_url: "https://api.openai.com/v1" }
  plan: { dialect: messages, base_url: "https://api.anthropic.com", billing: flat }
models: { openai/mine: { price: { input: 1.5, output: 2 } }, openai/picture: { type: image, price: { image: 0.04 } } }
routes:
  auto:
    targets:
      [ { model: openai/gpt-9 }, { model: openai/gpt-6.2-sol }, { model: openai/gpt-6.1-sol }, { model: openai/gpt-5.2-pro }, { model: openai/mine }, { model: plan/claude-fable-5-2 } ]
`,
  )
  const prices = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCli(['models', 'prices', ...args, '-c', file])
    return { code, stdout, stderr }
  }
  const all = await prices()
  assert.equal(all.code, 0, all.stderr)
  const lines = Object.fromEntries(
    all.stdout
      .trim()
      .split('\n')
      .map((line) => [line.split(' ')[0], line]),
  )
  assert.match(lines['openai/mine']!, / 1\.5 .* 2 .*your configuration$/)
  assert.match(lines['openai/picture']!, / 0\.04 a picture .*your configuration$/)
  assert.match(
    lines['openai/gpt-6.2-sol']!,
    / 2\+ +0\.1\+ +10\+ .*OpenAI's page of GPT-6\.2 Sol.*, 2026-11-18$/,
  )
  assert.match(lines['openai/gpt-6.1-sol']!, / 2\+ .*genai-prices 0\.2\.3, 2026-10-26$/)
  assert.match(lines['openai/gpt-5.2-pro']!, /genai-prices 0\.1\.8, 2026-09-23$/)
  assert.match(lines['plan/claude-fable-5-2']!, /genai-prices 0\.2\.3, 2026-10-26; paid by a subscription$/)
  assert.match(
    lines['openai/gpt-9']!,
    /unknown; write under models: openai\/gpt-9: \{ price: \{ input: INPUT, output: OUTPUT \} \}$/,
  )
  const some = await prices('GPT-6', '--json')
  const found = JSON.parse(some.stdout)
  assert.ok(found.length > 6, some.stdout)
  for (const { model, rates, source } of found) {
    assert.match(model, /^openai\/.*gpt-6/)
    assert.ok(rates.input_mtok !== undefined && source.title && source.date, model)
  }
  const none = await prices('no-such-model')
  assert.equal(none.code, 2)
  assert.match(none.stderr, /no price is known for a model with "no-such-model" in its name at openai, plan/)
})
