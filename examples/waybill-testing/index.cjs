// One test's part of the mock, with its own address, key, scripts and ledger, and matchers for the ledger. Written in
// CommonJS, which both Vitest and Jest load without a transform.
const { randomUUID } = require('node:crypto')

/** Returns the mock of one test. `name` is for people; two tests with the same name stay separate. */
function mockFor(name = 'test') {
  if (!process.env.WAYBILL_MOCK)
    throw new Error(
      "the mock is not running: name 'waybill-testing/setup' under globalSetup in your configuration",
    )
  const { url, control, providers } = JSON.parse(process.env.WAYBILL_MOCK)
  const context = `/t/${encodeURIComponent(`${name.slice(0, 60)} ${randomUUID()}`)}`
  const known = (provider) => {
    if (providers[provider]) return providers[provider]
    throw new Error(`there is no provider ${provider}; there are ${Object.keys(providers).join(', ')}`)
  }
  const ask = async (method, path, body) => {
    const response = await fetch(control + context + path, {
      method,
      ...(body && { body: JSON.stringify(body) }),
    })
    if (response.status === 204) return undefined
    const json = await response.json()
    if (!response.ok) throw new Error(json.error.message)
    return json
  }
  return {
    baseUrl: (provider = 'openai') => url + context + known(provider).path,
    key: (provider = 'openai') => known(provider).key,
    /** Scripts answers to the next call, to every call, or to calls with given content. */
    answer: (answers) => ask('POST', '/answers', answers),
    /** Sets the shares of errors, cuts and slow calls, and the pace. */
    chaos: (numbers) => ask('PUT', '/chaos', numbers),
    /** Calls so far in a readable form. */
    calls: async () =>
      (await ask('GET', '/ledger')).entries.filter(({ kind }) => kind === 'inference').map(readable),
    /** Sums of calls, failures, tokens, cost and problems. */
    sum: () => ask('GET', '/sum'),
  }
}

function readable({ provider, model, body, problems, answer }) {
  const messages = body?.messages ?? body?.contents ?? (Array.isArray(body?.input) ? body.input : [])
  const last = messages.findLast(({ role }) => role === 'user')
  const content = last?.content ?? last?.parts ?? body?.input ?? body?.prompt
  const user = Array.isArray(content) ? content.map(({ text }) => text ?? '[no text]').join('\n') : content
  const tools = (body?.tools ?? []).map(({ name, function: own }) => name ?? own?.name)
  return {
    provider,
    model,
    user,
    ...(tools.length > 0 && { tools }),
    status: answer.status,
    ...(problems.length > 0 && { problems }),
  }
}

/** Matchers, added with `expect.extend(matchers)`. */
const matchers = {
  /** Compares the calls of a mock in order, but only the given members of each. */
  async toHaveCalls(mock, expected) {
    const calls = await mock.calls()
    const shown = calls.map((call, i) => {
      const names = Object.keys(expected[i] ?? call)
      return Object.fromEntries(names.map((name) => [name, call[name]]))
    })
    const pass = this.equals(shown, expected)
    return {
      pass,
      message: () =>
        `The calls are ${pass ? '' : 'not '}the expected ones.\n\n${this.utils.diff(expected, shown) ?? ''}`,
    }
  },
  /** Compares the sum of a mock with the allowed maximum: `{ calls: 2, output_tokens: 500, cost: 0.01 }` */
  async toStayWithin(mock, limits) {
    const sum = await mock.sum()
    const over = Object.keys(limits).filter((name) => !(sum[name] <= limits[name]))
    const unknown = 'cost' in limits && sum.without_cost > 0
    const reasons = [
      ...over.map((name) => `${name}: ${sum[name]}, more than ${limits[name]}`),
      ...(unknown ? [`cost: unknown for ${sum.without_cost} calls`] : []),
    ]
    return {
      pass: reasons.length === 0,
      message: () => (reasons.length > 0 ? reasons.join('\n') : `All is within ${JSON.stringify(limits)}.`),
    }
  },
  /** Checks that the provider would have accepted every call, and that every call had an answer. */
  async toBeValid(mock) {
    const { problems, without_recording } = await mock.sum()
    const reasons = [
      ...problems,
      ...(without_recording > 0 ? [`${without_recording} calls have no recording`] : []),
    ]
    return { pass: reasons.length === 0, message: () => reasons.join('\n') || 'All calls are valid.' }
  },
}

exports.mockFor = mockFor
exports.matchers = matchers
