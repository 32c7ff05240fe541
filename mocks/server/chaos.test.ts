// Tests chaos and pace over a real socket: the configured shares, the same choices for the same seed, and the
// times that a client sees.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../src/shared/test-clock.ts'
import { IS_FULL } from '../../src/test/test-size.ts'
import { createMockProviders } from './create.ts'
import { tokensOfAnswer } from './sum.ts'
import { ask, chatBody, mockFor } from './test-mock.ts'

/** Returns the outcome of each of `count` calls: a status, or `cut`. */
async function outcomes(
  mock: Awaited<ReturnType<typeof mockFor>>,
  count: number,
): Promise<(number | 'cut')[]> {
  const found: (number | 'cut')[] = []
  for (let call = 0; call < count; call++) {
    const response = await ask(mock, chatBody('gpt-5-mini', { stream: true }))
    const whole = await response.text().catch(() => null)
    found.push(whole === null ? 'cut' : response.status)
  }
  return found
}

const shareOf = (found: readonly unknown[], kind: unknown): number =>
  found.filter((one) => one === kind).length / found.length

/** Calls that show the rates; the seed makes the same choices in each run. */
const CALLS = IS_FULL ? 150 : 90

test('errors and cuts occur at the configured rates, and the same seed makes the same choices', async (t) => {
  const mock = await mockFor(t)
  const numbers = { errors: 0.3, status: 529, cuts: 0.2, seed: 4 }
  mock.chaos(numbers)
  const first = await outcomes(mock, CALLS)
  for (const [kind, share] of [
    [529, 0.3],
    ['cut', 0.2],
    [200, 0.5],
  ] as const)
    assert.ok(Math.abs(shareOf(first, kind) - share) < 0.13, `${kind}: ${shareOf(first, kind)}`)
  const { calls, failed } = mock.sum()
  assert.deepEqual([calls, failed], [CALLS, first.filter((one) => one !== 200).length])
  mock.chaos(numbers)
  assert.deepEqual(await outcomes(mock, CALLS), first)
  mock.chaos({ ...numbers, seed: 5 })
  assert.notDeepEqual(await outcomes(mock, 20), first.slice(0, 20))
  mock.chaos(null)
  assert.deepEqual(new Set(await outcomes(mock, 10)), new Set([200]))
})

test('the first token and later tokens arrive at the configured pace, and jitter varies the pace', async (t) => {
  const manual = manualClock()
  const mock = await mockFor(t, { clock: manual })
  const times = async (): Promise<{ first: number; all: number }> => {
    const asked = ask(mock, chatBody('scenario-long', { stream: true })).then((response) => response.text())
    await manual.during(asked, 10)
    const { at, answer } = mock.entries().at(-1)!
    return { first: answer.first_byte_at! - at, all: answer.last_byte_at! - at }
  }
  mock.chaos({ first_token_ms: 1_000 })
  const late = await times()
  assert.ok(late.first >= 1_000 && late.all < 10_000, `not only the first piece was late: ${late.all} ms`)
  mock.chaos({ tokens_per_second: 2000 })
  const paced = await times()
  const bytes = mock
    .entries()
    .at(-1)!
    .answer.body!.matchAll(/"content":"([^"]*)"/g)
  const tokens = [...bytes].reduce((sum, [, text]) => sum + text!.length, 0) / 4
  assert.ok(paced.first < 990 && paced.all >= (tokens / 2000) * 950, `${tokens} tokens in ${paced.all} ms`)
  mock.chaos({ first_token_ms: 100, jitter: 0.9, seed: 3 })
  const firsts = [await times(), await times(), await times(), await times()].map(({ first }) => first)
  assert.ok(Math.max(...firsts) - Math.min(...firsts) > 20, firsts.join(', '))
})

test('the configured share of calls is slow, scripted calls are not affected, and each test has its own settings', async (t) => {
  const manual = manualClock()
  const mock = await mockFor(t, { chaos: { errors: 1, status: 500 }, clock: manual })
  assert.equal((await ask(mock, chatBody('gpt-5-mini'))).status, 500)
  mock.answer({ say: { text: 'Scripted.' } })
  assert.equal((await ask(mock, chatBody('gpt-5-mini'))).status, 200)
  const own = mock.context('own')
  own.chaos({ slow: 1, slow_ms: 150 })
  const headers = { authorization: `Bearer ${own.key('openai')}`, 'content-type': 'application/json' }
  const asked = fetch(`${own.baseUrl('openai')}/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify(chatBody('gpt-5-mini')),
  })
  assert.equal((await manual.during(asked)).status, 200)
  const { at, answer } = own.entries().at(-1)!
  assert.ok(answer.first_byte_at! - at >= 150)
})

test('the control port accepts chaos settings and returns totals, and its errors name the wrong field', async (t) => {
  const mock = await mockFor(t)
  const put = (body: unknown) =>
    fetch(`${mock.controlUrl}/chaos`, { method: 'PUT', body: JSON.stringify(body) })
  assert.equal((await put({ errors: 1, status: 429 })).status, 204)
  assert.equal((await ask(mock, chatBody('gpt-5-mini'))).status, 429)
  const { calls, failed } = (await (await fetch(`${mock.controlUrl}/sum`)).json()) as Record<string, number>
  assert.deepEqual([calls, failed], [1, 1])
  for (const [body, message] of [
    [{ errors: 2 }, /^errors: /],
    [{ error: 1 }, /"error" is not known here/],
    [{ errors: 0.6, cuts: 0.6 }, /errors and cuts together exceed 1/],
  ] as const) {
    const refused = await put(body)
    assert.equal(refused.status, 400)
    assert.match(((await refused.json()) as { error: { message: string } }).error.message, message)
  }
  await assert.rejects(createMockProviders({ chaos: { errors: 2 } }), /errors/)
})

test('the totals include the tokens and cost of whole and streamed answers, and count the answers without a cost', async (t) => {
  const mock = await mockFor(t)
  await (await ask(mock, chatBody('gpt-5-mini'))).text()
  await (
    await ask(mock, chatBody('gpt-5-mini', { stream: true, stream_options: { include_usage: true } }))
  ).text()
  const counted = mock.sum()
  assert.deepEqual([counted.calls, counted.failed, counted.without_cost], [2, 0, 0])
  assert.ok(
    counted.input_tokens > 0 && counted.output_tokens > 0 && counted.cost > 0,
    JSON.stringify(counted),
  )
  await (await ask(mock, chatBody('gpt-5-mini', { stream: true }))).text() // does not request usage
  await (await ask(mock, chatBody('a-model-without-price'))).text()
  await mock.settled()
  const more = mock.sum()
  assert.deepEqual([more.calls, more.without_cost, more.cost], [4, 2, counted.cost])
})

test('the tokens of an answer are those of its dialect: thoughts count as output, cached tokens as input', () => {
  for (const [answer, tokens] of [
    [
      {
        usageMetadata: {
          promptTokenCount: 9,
          candidatesTokenCount: 2,
          thoughtsTokenCount: 5,
          cachedContentTokenCount: 4,
        },
      },
      { input: 9, output: 7, cached: 4, written: 0 },
    ],
    [
      {
        usage: {
          input_tokens: 1,
          output_tokens: 2,
          cache_read_input_tokens: 4,
          cache_creation_input_tokens: 8,
        },
      },
      { input: 13, output: 2, cached: 4, written: 8 },
    ],
    [
      { usage: { prompt_tokens: 9, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } } },
      { input: 9, output: 2, cached: 4, written: 0 },
    ],
  ])
    assert.deepEqual(tokensOfAnswer(JSON.stringify(answer)), tokens)
})
