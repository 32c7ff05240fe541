// Tests the application against the real gateway in a container, which answers from recordings: no key, network or cost.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { WaybillContainer } from 'waybill/testcontainers'
import { summarize } from './summary.js'

const TARGETS = [{ model: 'openai/gpt-6-luna' }, { model: 'groq/openai/gpt-oss-120b' }]
const BROKEN = [{ model: 'openai/scenario-500' }, { model: 'groq/openai/gpt-oss-120b' }]

/** Configuration in production, or the part of it that matters here. */
const config = (targets) => ({
  providers: {
    openai: { dialect: 'openai', base_url: 'https://api.openai.com/v1', key: '$OPENAI_API_KEY' },
    groq: { dialect: 'openai', base_url: 'https://api.groq.com/openai/v1', key: '$GROQ_API_KEY' },
  },
  routes: { auto: { targets } },
})

for (const [what, targets, served, attempts] of [
  ['the first provider answers', TARGETS, 'openai', 1],
  ['the first provider fails, the second answers', BROKEN, 'groq', 2],
])
  test(`a text is summarized in this case: ${what}`, async (t) => {
    const waybill = await new WaybillContainer(process.env.WAYBILL_IMAGE).withConfig(config(targets)).start()
    t.after(() => waybill.stop())
    const client = new OpenAI({ baseURL: waybill.baseUrl, apiKey: waybill.apiKey })

    const summary = await summarize(
      client,
      'A waybill lists the goods of a consignment and the road they take.',
    )

    assert.ok(summary.length > 0)
    const [call] = await waybill.requestLogs()
    assert.equal(call.resolved_provider, served)
    assert.equal(call.attempts, attempts)
    assert.equal(call.state, 'completed')
  })
