// KEEP-01: Planted secrets (client key, provider key, key in a query) appear in no answer, header, error or read
// endpoint (Waybill: also not in the database, WAL, artifacts or standard output). A provider key that the client
// itself sends with its calls is not a secret from this client. The suite's provider repeats the refused key in
// full, so that a gateway that passes it on is noticed. Most real providers mask the key, but not all do, so the
// gateway must not pass it on. A query that is repeated to its own sender is not a leak (Waybill: it is). A
// caller's own credential (KEEP-07) is not a secret from its provider.

import { ref, refs, requestsOf } from '../dialects/lookup.ts'
import { providerKeysIn, secretsGivenAway } from '../evidence/secrets.ts'
import { step, stepText } from '../evidence/step.ts'
import { secrets } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'

const steps = {
  echo: step<{ of: string }>('a provider echoes a key'),
  call: step('call'),
  error: step('error'),
  read: step('read'),
}

export const secretsStayInside = {
  id: 'KEEP-01',
  hostile: true,
  timeout: 180_000,
  async exercise(session) {
    const { keys } = session.running
    const inQuery = `waybill-canary-${session.nonce()}`
    await session.watchForSecret('key-in-query', inQuery)
    await session.chat(steps.call)
    await session.chat(steps.call, { stream: true })
    // Providers repeat a refused key, which is the gateway's own key here.
    for (const [name, secret] of session.providerKeys())
      await session.chat(steps.echo.with({ of: name }), {
        script: [
          {
            status: 401,
            body: {
              error: {
                message: `Incorrect API key provided: ${secret}`,
                type: 'invalid_request_error',
                param: null,
                code: 'invalid_api_key',
              },
            },
          },
        ],
      })
    await session.wait(session.target.capabilities.cooldown_ms)
    await session.ask(steps.error, '/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{',
    })
    for (const path of [...session.target.capabilities.read_paths, '/v1/models', '/nothing-is-here'])
      for (const query of ['', `${path.includes('?') ? '&' : '?'}key=${inQuery}`])
        await session.ask(steps.read, path + query, { key: keys.reader })
  },
  judge({ evidence, target, waybill }) {
    const held = providerKeysIn([...evidence.exchanges.map(({ request }) => request), target])
    const echoed = steps.echo.in(evidence)
    const said = echoed.flatMap((exchange) =>
      requestsOf(evidence, exchange).filter(({ answer }) => answer.status === 401),
    )
    return [
      finding(
        'provider-said-a-key',
        said.length > 0,
        "answers of providers that held the gateway's own key",
        { expected: 'at least one', actual: String(said.length) },
        refs(...echoed, ...said),
      ),
      ...evidence.exchanges.map((exchange) => {
        const found = secretsGivenAway(exchange, held, { strictly: waybill })
        return finding(
          'no-secret-in-answers',
          found.length === 0,
          `the answer to ${exchange.request.method} ${exchange.request.path} (${stepText(exchange)})`,
          { expected: 'no secret in it', actual: secrets(found) || 'none' },
          [ref(exchange)],
        )
      }),
    ]
  },
} satisfies Check
