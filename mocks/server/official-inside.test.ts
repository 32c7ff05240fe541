// Tests the official clients in this process, with their vendors' own addresses: interception answers every
// request.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI, { AzureOpenAI } from 'openai'
import { interceptProviders } from './intercept.ts'

const apiKey = 'any key will do'
const question = [{ role: 'user' as const, content: 'Where to?' }]

suite('official clients in this process', () => {
  let interception: ReturnType<typeof interceptProviders>
  before(() => {
    interception = interceptProviders({ pace: 'none', loopback: 'recorded' })
  })
  after(() => interception.dispose())

  test("Anthropic's client receives its answers from within this process", async () => {
    const stream = new Anthropic({ apiKey, maxRetries: 0 }).messages.stream({
      model: 'claude-haiku-4-5',
      max_tokens: 64,
      messages: question,
    })
    assert.match(await stream.finalText(), /Viele Grüße/)
  })

  test("Gemini's client receives its answers from within this process", async () => {
    const { models } = new GoogleGenAI({ apiKey: 'any-key-will-do' })
    let text = ''
    const stream = await models.generateContentStream({ model: 'gemini-3.8-flash', contents: 'Where to?' })
    for await (const chunk of stream) text += chunk.text ?? ''
    assert.match(text, /Viele Grüße/)
  })

  test("OpenAI's clients get answers for responses, and for Azure, Mistral, xAI and Ollama", async () => {
    const { output_text } = await new OpenAI({ apiKey, maxRetries: 0 }).responses.create({
      model: 'gpt-4o-mini',
      input: 'Where to?',
    })
    assert.match(output_text, /recorded response/)
    for (const client of [
      new AzureOpenAI({
        endpoint: 'https://some-resource.openai.azure.com',
        apiKey,
        apiVersion: '2024-10-21',
        maxRetries: 0,
      }),
      ...['https://api.mistral.ai/v1', 'https://api.x.ai/v1', 'http://localhost:11434/v1'].map(
        (baseURL) => new OpenAI({ baseURL, apiKey, maxRetries: 0 }),
      ),
    ]) {
      const stream = client.chat.completions.stream({ model: 'm', messages: question })
      assert.match((await stream.finalChatCompletion()).choices[0]!.message.content!, /Viele Grüße/)
    }
  })
})
