// Tests of the package, which every test runner can run.
const { matchers, mockFor } = require('../index.cjs')
const { ask } = require('./ask.cjs')

exports.testPlugin = ({ test, expect }) => {
  expect.extend(matchers)

  test('the ledger has only the calls, tokens and cost of the test', async () => {
    const mock = mockFor('own')
    await mock.answer({ say: { text: 'Bern.' } })
    expect(await ask(mock, 'The capital of Switzerland?')).toBe('Bern.')
    await expect(mock).toHaveCalls([
      { model: 'gpt-6-luna', user: 'The capital of Switzerland?', status: 200 },
    ])
    await expect(mock).toBeValid()
    await expect(mock).toStayWithin({ calls: 1, input_tokens: 100, output_tokens: 100, cost: 0.01 })
    expect((await mock.sum()).cost).toBeGreaterThan(0)
  })

  test('a difference is shown in a readable form', async () => {
    const mock = mockFor('different')
    await ask(mock, 'Two words')
    await expect(expect(mock).toHaveCalls([{ user: 'Three words' }])).rejects.toThrow(
      /-[^\n]*Three words[\s\S]*\+[^\n]*Two words/,
    )
    await expect(expect(mock).toStayWithin({ calls: 0 })).rejects.toThrow('calls: 1, more than 0')
  })

  test('a call that the provider would refuse is not valid', async () => {
    const mock = mockFor('invalid')
    await expect(ask(mock, 'Hello', 'gpt-nothing')).rejects.toThrow('404')
    await expect(expect(mock).toBeValid()).rejects.toThrow('unknown model: gpt-nothing')
  })

  test('a connection to another machine fails', async () => {
    const error = await fetch('https://api.openai.com/v1/models').catch(({ cause }) => cause)
    expect(error.message).toMatch(/^a test tried to reach api.openai.com; give your application/)
  })

  test('half of the calls fail if the test asks for it', async () => {
    const mock = mockFor('chaos')
    await mock.chaos({ errors: 0.5, status: 529, seed: 7 })
    const outcomes = []
    for (let call = 0; call < 20; call++)
      outcomes.push(
        await ask(mock, 'Hello').then(
          () => 200,
          ({ message }) => Number(message.slice(-3)),
        ),
      )
    const { calls, failed } = await mock.sum()
    expect([calls, failed]).toEqual([20, outcomes.filter((status) => status === 529).length])
    expect(failed).toBeGreaterThan(3)
    expect(failed).toBeLessThan(17)
  })

  // 200 concurrent tests on one mock server: each sees only its own calls.
  const BUSY_MS = 30_000 // they wait for each other on a busy machine
  for (let i = 0; i < 200; i++)
    test.concurrent(
      `test ${i} of 200 sees its own calls`,
      async () => {
        const mock = mockFor('one name for all')
        await mock.answer([{ say: { text: `One of ${i}.` } }, { say: { text: `Two of ${i}.` } }])
        expect(await ask(mock, `first ${i}`)).toBe(`One of ${i}.`)
        await new Promise((done) => setTimeout(done, (i * 7) % 50))
        expect(await ask(mock, `second ${i}`)).toBe(`Two of ${i}.`)
        expect((await mock.calls()).map(({ user }) => user)).toEqual([`first ${i}`, `second ${i}`])
      },
      BUSY_MS,
    )
}
