// Each way in which real providers deviate (`deviations/`) is read as a right reader does, natively and in a translation.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDeviations } from '../../mocks/deviations/read.ts'
import { sample } from '../test/test-size.ts'
import { PAIRS } from './test-crossing.ts'
import { concluded, differences, formsOf, translated } from './test-deviations.ts'

const CASES = readDeviations()
  .filter(({ status }) => status < 400)
  .flatMap((each) => formsOf(each).map(([form, bytes]) => ({ each, form, bytes })))

/** Names the differences of some forms of deviations. */
const named = (cases: typeof CASES, judge: (each: (typeof CASES)[number]) => string[]): string[] =>
  cases.flatMap((one) =>
    judge(one).map((found) => `${one.each.dialect} ${one.each.id} (${one.form}): ${found}`),
  )

test('the gateway concludes from each deviation what a right reader concludes (DIAL-16, DIAL-17, DIAL-18, USE-09)', () => {
  const found = named(CASES, ({ each, bytes }) => differences(each, concluded(each.dialect, bytes, each.cut)))
  assert.deepEqual(found, [])
})

test('a stream of any deviation means the same in pieces of any size', () => {
  const streams = CASES.filter(({ form }) => form === 'stream')
  const found = named(streams, ({ each, bytes }) =>
    sample([1, 2, 3, 5, 17], 5).flatMap((size) =>
      differences(each, concluded(each.dialect, bytes, each.cut, size)),
    ),
  )
  assert.deepEqual(found, [])
})

test('a stream of any deviation means the same under one name for all of its events (DIAL-18)', () => {
  const streams = CASES.filter(({ form }) => form === 'stream')
  const found = named(streams, ({ each, bytes }) => {
    const renamed = bytes.toString('latin1').replace(/^event: ?(?!error|ping).*/gm, 'event: message')
    return differences(each, concluded(each.dialect, Buffer.from(renamed, 'latin1'), each.cut))
  })
  assert.deepEqual(found, [])
})

test('two calls with the same id are two calls in every dialect (DIAL-16)', () => {
  const cities = ['Oslo', 'Rome']
  const args = cities.map((city) => JSON.stringify({ city }))
  const call = { type: 'function_call', id: 'a', call_id: 'a', name: 'get_weather' }
  const items = args.map((text) => ({ ...call, arguments: text }))
  const response = { status: 'completed', output: items }
  const answers: Readonly<Record<string, object>> = {
    chat: {
      choices: [
        {
          message: {
            tool_calls: args.map((text) => ({ id: 'a', function: { name: 'get_weather', arguments: text } })),
          },
          finish_reason: 'tool_calls',
        },
      ],
    },
    messages: {
      content: cities.map((city) => ({ type: 'tool_use', id: 'a', name: 'get_weather', input: { city } })),
      stop_reason: 'tool_use',
    },
    responses: response,
    gemini: {
      candidates: [
        {
          content: {
            parts: cities.map((city) => ({ functionCall: { id: 'a', name: 'get_weather', args: { city } } })),
          },
          finishReason: 'STOP',
        },
      ],
    },
  }
  const stream = [
    ...items.flatMap((item, output_index) => [
      { type: 'response.output_item.added', output_index, item: { ...item, arguments: '' } },
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response },
  ]
  const cases: (readonly [string, string])[] = [
    ...Object.entries(answers).map(([dialect, whole]) => [dialect, JSON.stringify(whole)] as const),
    ['responses', stream.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')],
  ]
  for (const [dialect, text] of cases) {
    const expected = cities.map((city) => ({ name: 'get_weather', arguments: { city } }))
    assert.deepEqual(concluded(dialect, Buffer.from(text)).calls, expected, `${dialect}: ${text}`)
  }
})

for (const [client, provider] of PAIRS)
  test(`a ${client} client concludes the same from each deviation of a ${provider} provider, in the form that it asked for (DIAL-15, DIAL-18, DIAL-19)`, () => {
    const cases = CASES.filter(({ each }) => each.dialect === provider)
    const found = named(cases, ({ each, bytes }) =>
      sample(['stream', 'whole'] as const, 2).flatMap((form) => {
        const { got, isForm } = translated(client, provider, bytes, form, each.cut)
        return [...differences(each, got, client), ...(isForm ? [] : [`not a ${form} answer`])].map(
          (text) => `${form}: ${text}`,
        )
      }),
    )
    assert.deepEqual(found, [])
  })
