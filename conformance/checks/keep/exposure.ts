// Checks of what a gateway shows to the outside: secrets, metadata, and other origins.
import { ref, refs, requestsOf } from '../../dialects/lookup.ts'
import { endText, listed, secrets, step, stepText } from '../../evidence/evidence.ts'
import { jsonOf, providerKeysIn, secretsGivenAway } from '../../evidence/reading.ts'
import { each, family, type Told } from '../check.ts'

const check = family()

const leaks = {
  echo: step<{ of: string }>('a provider echoes a key'),
  call: step('call'),
  error: step('error'),
  read: step('read'),
}

check('KEEP-01', {
  hostile: true,
  timeout: 180_000,
  async exercise(session) {
    const { keys } = session.running
    const inQuery = `waybill-canary-${session.nonce()}`
    await session.watchForSecret('key-in-query', inQuery)
    await session.chat(leaks.call)
    await session.chat(leaks.call, { stream: true })
    // Providers repeat a refused key, which is the gateway's own key here.
    for (const [name, secret] of session.providerKeys())
      await session.chat(leaks.echo.with({ of: name }), {
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
    await session.ask(leaks.error, '/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{',
    })
    for (const path of [...session.target.capabilities.read_paths, '/v1/models', '/nothing-is-here'])
      for (const query of ['', `${path.includes('?') ? '&' : '?'}key=${inQuery}`])
        await session.ask(leaks.read, path + query, { key: keys.reader })
  },
  judge({ evidence, target, waybill }) {
    const held = providerKeysIn([...evidence.exchanges.map(({ request }) => request), target])
    const echoed = leaks.echo.in(evidence)
    const said = echoed.flatMap((exchange) =>
      requestsOf(evidence, exchange).filter(({ answer }) => answer.status === 401),
    )
    return [
      {
        'provider-said-a-key': [
          said.length > 0,
          "answers of providers that held the gateway's own key",
          'at least one',
          String(said.length),
          refs(...echoed, ...said),
        ],
      },
      evidence.exchanges.map((exchange): Told => {
        const found = secretsGivenAway(exchange, held, { strictly: waybill })
        return {
          'no-secret-in-answers': [
            found.length === 0,
            `the answer to ${exchange.request.method} ${exchange.request.path} (${stepText(exchange)})`,
            'no secret in it',
            secrets(found) || 'none',
            [ref(exchange)],
          ],
        }
      }),
    ]
  },
})

const publicList = step('public')

const PUBLIC = ['name', 'strategy', 'model_ids', 'providerId', 'description']

check('KEEP-05', {
  exercise: (session) => session.ask(publicList, '/v1beta/models'),
  judge: each(publicList, ({ exchange }) => {
    const json = jsonOf(exchange.body) as { models?: object[] } | undefined
    const models = json?.models ?? []
    const keys = new Set(models.flatMap((each) => Object.keys(each)))
    const ok =
      models.length > 0 &&
      Object.keys(json!).join() === 'models' &&
      [...keys].sort().join() === [...PUBLIC].sort().join()
    return {
      'only-public-fields': [
        ok,
        `the fields of ${models.length} entries`,
        `of at least one: ${PUBLIC.join(', ')}`,
        listed([...keys]),
      ],
    }
  }),
})

const foreign = step('foreign')

check('KEEP-06', {
  async exercise(session) {
    const body = JSON.stringify({ model: session.model, messages: [{ role: 'user', content: 'x' }] })
    const post = { method: 'POST', body }
    for (const headers of [
      { host: 'evil.example' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ]) {
      await session.ask(foreign, '/v1/models', { headers })
      await session.ask(foreign, '/v1/chat/completions', {
        ...post,
        headers: { ...headers, 'content-type': 'application/json' },
      })
    }
    if (session.target.variants.public) {
      const refused = await session.another('public').then(
        () => null,
        (cause: Error) => cause.message,
      )
      session.note('public', refused)
    }
  },
  judge({ evidence }) {
    const refused = evidence.facts.public
    const reached = evidence.ledger.filter(({ kind }) => kind === 'inference')
    return [
      foreign.in(evidence).map((exchange): Told => {
        const { host, origin } = exchange.request.headers
        return {
          'foreign-is-refused': [
            exchange.status === 403,
            `the answer to ${exchange.request.method} with ${host ? `Host ${host}` : `Origin ${origin}`}`,
            '403',
            endText(exchange),
            [ref(exchange)],
          ],
        }
      }),
      {
        'none-reaches-a-provider': [
          reached.length === 0,
          'inferences of requests with a foreign Host or Origin',
          'none',
          String(reached.length),
          refs(...reached),
        ],
      },
      refused === undefined
        ? []
        : {
            'no-public-address-without-keys': [
              typeof refused === 'string' && /key/.test(refused),
              'a start on a public address without keys',
              'refused with a word about keys',
              String(refused ?? 'it runs'),
            ],
          },
    ]
  },
})
