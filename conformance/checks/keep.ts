// KEEP: secrets stay where they are.
import { type Check, finding } from '../check.ts'
import { labelled, ref, refs, requestsOf } from '../lookup.ts'
import { secretsGivenAway, secretsIn } from '../secrets.ts'

export const secretsStayInside = {
  id: 'KEEP-01',
  hostile: true,
  timeout: 60_000,
  async exercise(session) {
    const { keys } = session.running
    const inQuery = `waybill-canary-${session.nonce()}`
    await session.watchForSecret('key-in-query', inQuery)
    await session.chat('call')
    await session.chat('call', { stream: true })
    // Providers echo the key that they refuse: here the gateway's own.
    for (const [name, secret] of session.providerKeys())
      await session.chat(`echo of ${name}`, {
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
    await session.ask('error', '/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{',
    })
    for (const path of [...session.target.capabilities.read_paths, '/v1/models', '/nothing-is-here'])
      for (const query of ['', `${path.includes('?') ? '&' : '?'}key=${inQuery}`])
        await session.ask('read', path + query, { key: keys.reader })
  },
  judge({ evidence, target }) {
    const echoed = evidence.exchanges.filter(({ label }) => label.startsWith('echo of '))
    const said = echoed.flatMap((exchange) =>
      requestsOf(evidence, exchange).filter(({ answer }) => answer.status === 401),
    )
    return [
      finding(
        said.length > 0,
        `providers said the gateway's own key ${said.length} times`,
        refs(...echoed, ...said),
      ),
      ...evidence.exchanges.map((exchange) => {
        const found = secretsGivenAway(exchange, target.headers)
        return finding(
          found.length === 0,
          `${exchange.request.method} ${exchange.request.path}, ${exchange.label}: ${found.join(', ') || 'no secret'} in the answer`,
          [ref(exchange)],
        )
      }),
    ]
  },
} satisfies Check

export const keysDoNotCross = {
  id: 'KEEP-02',
  needs: ['gateway_keys'],
  async exercise(session) {
    const { client } = session.running.keys
    if (client === null)
      return session.untestable('the target file declares gateway keys, but none is in use')
    await session.chat('authorization', { key: client })
    await session.chat('x-api-key', { key: null, headers: { 'x-api-key': client } })
    await session.chat('streamed', { stream: true })
  },
  judge({ evidence }) {
    const reached = evidence.ledger.filter(({ kind }) => kind === 'inference')
    const leaked = evidence.ledger.filter(({ canaries }) => canaries.some((name) => name.startsWith('key.')))
    return [
      finding(
        reached.length > 0,
        `${reached.length} calls reached the provider`,
        reached.map((entry) => `@${entry.n}`),
      ),
      finding(
        leaked.length === 0,
        `${leaked.length} requests to the provider carried a gateway key`,
        leaked.map((entry) => `@${entry.n}`),
      ),
      ...evidence.exchanges.map((exchange) => {
        const found = secretsIn(exchange)
        return finding(
          found.length === 0,
          `${exchange.label}: ${found.join(', ') || 'no key'} in the answer`,
          [ref(exchange)],
        )
      }),
    ]
  },
} satisfies Check

export const keysAreRequired = {
  id: 'KEEP-03',
  needs: ['gateway_keys'],
  async exercise(session) {
    for (const path of session.target.capabilities.gateway_keys!.protected) {
      const post = /chat\/completions$/.test(path)
      const request = post
        ? {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ model: session.model, messages: [{ role: 'user', content: 'x' }] }),
          }
        : {}
      await session.ask('no key', path, { ...request, key: null })
      await session.ask('wrong key', path, { ...request, key: 'sk-wrong-key-of-the-suite' })
      if (!post) await session.ask('right key', path, { ...request, key: session.running.keys.reader })
    }
  },
  judge: ({ evidence }) => [
    ...[...labelled(evidence, 'no key'), ...labelled(evidence, 'wrong key')].map((exchange) =>
      finding(
        exchange.status === 401,
        `${exchange.request.method} ${exchange.request.path} with ${exchange.label}: ${exchange.status}, expected 401`,
        refs(exchange, ...requestsOf(evidence, exchange)),
      ),
    ),
    ...labelled(evidence, 'right key').map((exchange) =>
      finding(
        exchange.status !== null && exchange.status < 400,
        `${exchange.request.path} with the right key: ${exchange.status}`,
        [ref(exchange)],
      ),
    ),
  ],
} satisfies Check
