// Checks of keys: who needs one, where it goes, and what it reaches.

import { writeNonce } from '../../../mocks/ledger.ts'
import { secondKeyOf } from '../../../mocks/server/secrets.ts'
import { ref, refs, requestIdOf, requestsOf } from '../../dialects/lookup.ts'
import {
  type Evidence,
  type Exchange,
  endText,
  type PlainStep,
  secrets,
  step,
} from '../../evidence/evidence.ts'
import { secretsIn } from '../../evidence/reading.ts'
import { declares } from '../../target/schema.ts'
import { doubt, each, type Finding, family, finding, type Told } from '../check.ts'
import { LOG } from '../log/parts.ts'

const check = family()

const crossing = {
  authorization: step('authorization'),
  xApiKey: step('x-api-key'),
  streamed: step('streamed'),
}

check('KEEP-02', {
  needs: ['gateway_keys'],
  async exercise(session) {
    const { client } = session.running.keys
    if (client === null)
      return session.untestable('the target file declares gateway keys, but none is in use')
    await session.chat(crossing.authorization, { key: client })
    await session.chat(crossing.xApiKey, { key: null, headers: { 'x-api-key': client } })
    await session.chat(crossing.streamed, { stream: true })
  },
  judge({ evidence }) {
    const reached = evidence.ledger.filter(({ kind }) => kind === 'inference')
    const leaked = evidence.ledger.filter(({ canaries }) => canaries.some((name) => name.startsWith('key.')))
    return [
      {
        'calls-reach-a-provider': [
          reached.length > 0,
          'calls that reached the provider',
          'at least one',
          String(reached.length),
          reached.map((entry) => `@${entry.n}`),
        ],
        'no-gateway-key-at-a-provider': [
          leaked.length === 0,
          'requests to the provider with a gateway key in them',
          'none',
          String(leaked.length),
          leaked.map((entry) => `@${entry.n}`),
        ],
      },
      evidence.exchanges.map((exchange): Told => {
        const found = secretsIn(exchange)
        return {
          'no-key-in-answers': [
            found.length === 0,
            `the answer to the call "${exchange.step}"`,
            'no key in it',
            secrets(found) || 'none',
            [ref(exchange)],
          ],
        }
      }),
    ]
  },
})

const required = {
  noKey: step('no key'),
  wrongKey: step('wrong key'),
  rightKey: step('right key'),
  otherRightKey: step('the other right key'),
  inQuery: step('right key in the query'),
}

/** Adds a key to the URL. Such a key must give no access, because URLs end up in logs and histories. */
const withKey = (path: string, key: string): string =>
  `${path}${path.includes('?') ? '&' : '?'}access_token=${encodeURIComponent(key)}`

/** Finds the same request with another key. */
const beside = (step: PlainStep, evidence: Evidence, { request: { path, method } }: Exchange) =>
  step.in(evidence).find(({ request }) => request.path === path && request.method === method)

const isAnswered = ({ status }: Pick<Exchange, 'status'>): boolean => status !== null && status < 400

/** Checks that each path answers valid keys. The role of a single key is unknown. */
function withRightKeys(evidence: Evidence, waybill: boolean): Finding[] {
  const asked = required.rightKey.in(evidence)
  const onAll = waybill && required.otherRightKey.in(evidence).length > 0
  const best = asked.map((exchange) => {
    const other = beside(required.otherRightKey, evidence, exchange)
    return !isAnswered(exchange) && other && isAnswered(other) ? other : exchange
  })
  // A known key may lack a role. A key that is refused everywhere looks like an unknown key.
  const isKnown = best.some(isAnswered)
  return best.map((exchange) => {
    const lacksRole =
      exchange.status === 403 && beside(required.wrongKey, evidence, exchange)?.status === 401 && isKnown
    return finding(
      'answered-with-the-key',
      isAnswered(exchange) || (lacksRole && !onAll),
      `the answer to ${exchange.request.path} with ${exchange.step}`,
      {
        expected: onAll
          ? 'less than 400'
          : 'less than 400, or 403 where a wrong key gets 401 and the right one is answered elsewhere',
        actual: `${endText(exchange)}${onAll ? '' : `; a wrong key gets ${beside(required.wrongKey, evidence, exchange)?.status ?? 'no answer'}`}`,
      },
      [ref(exchange)],
    )
  })
}

check('KEEP-03', {
  timeout: 90_000,
  needs: ['gateway_keys'],
  async exercise(session) {
    const { client, reader } = session.running.keys
    for (const declared of session.target.capabilities.gateway_keys!.protected) {
      const [, method = 'GET', path = declared] = /^([A-Z]+) (.*)$/.exec(declared) ?? []
      const post = method === 'POST' || /chat\/completions$/.test(path)
      const messages = [{ role: 'user', content: writeNonce(session.nonce()) }]
      const request = post
        ? {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ model: session.model, messages }),
          }
        : { method }
      // Keys of a gateway on another machine are real and may end up in its logs. Google's clients request
      // models in this way.
      const inQuery = client !== null && declares(session.target, 'files') && !/\/models\b/.test(path)
      await Promise.all([
        session.ask(required.noKey, path, { ...request, key: null }),
        session.ask(required.wrongKey, path, { ...request, key: 'sk-wrong-key-of-the-suite' }),
        inQuery && session.ask(required.inQuery, withKey(path, client), { ...request, key: null }),
        !post && session.ask(required.rightKey, path, { ...request, key: reader }),
        !post && client !== reader && session.ask(required.otherRightKey, path, { ...request, key: client }),
      ])
    }
  },
  judge: [
    each([required.noKey, required.wrongKey], ({ exchange, evidence, waybill }) => ({
      'refused-without-a-key': [
        exchange.status === 401 || (!waybill && exchange.status === 403),
        `the answer to ${exchange.request.method} ${exchange.request.path} with ${exchange.step}`,
        waybill ? '401' : '401 or 403',
        endText(exchange),
        refs(exchange, ...requestsOf(evidence, exchange)),
      ],
    })),
    each(required.inQuery, ({ exchange, evidence, waybill }) =>
      waybill
        ? {
            'key-in-a-url-is-refused': [
              exchange.status === 400 || exchange.status === 401,
              `the answer to ${exchange.request.method} ${exchange.request.path}`,
              '400 or 401',
              endText(exchange),
              refs(exchange, ...requestsOf(evidence, exchange)),
            ],
          }
        : [],
    ),
    ({ evidence, waybill }) => withRightKeys(evidence, waybill),
  ],
})

const walls = { call: step('call'), own: step('own'), foreign: step('foreign') }

check('KEEP-04', {
  needs: ['gateway_keys', 'files'],
  async exercise(session) {
    const { other } = session.running.keys
    if (other === null) return session.untestable('the target has no second key')
    const id = `wall-${session.nonce()}`
    session.note('id', id)
    const exchange = await session.chat(walls.call, { headers: { 'x-gateway-session-id': id } })
    await session.record(exchange)
    const requestId = exchange.headers['x-gateway-request-id']
    for (const path of [
      `${LOG}?session_id=${id}`,
      `${LOG}/${requestId}`,
      `${LOG}/${requestId}/artifact`,
      `/api/usage/logs?session_id=${id}`,
      `/api/sessions/${id}`,
      '/api/sessions',
      `/api/statusline?session_id=${id}&model=${session.model}`,
    ])
      for (const [step, key] of [
        [walls.own, session.running.keys.client],
        [walls.foreign, other],
      ] as const)
        await session.ask(step, path, { key })
  },
  judge({ evidence, target }) {
    const id = evidence.facts.id as string
    const [call] = walls.call.in(evidence)
    const requestId = requestIdOf(target, call!) ?? id
    const tells = ({ status, body }: Exchange) =>
      status === 200 && (body.includes(id) || body.includes(requestId))
    const seen = (exchange: Exchange) =>
      `${endText(exchange)}, ${tells(exchange) ? 'and the call' : 'and not the call'}`
    const [own] = walls.own.in(evidence)
    return [
      {
        'own-key-finds-it': [
          tells(own!),
          'what the key that made a call gets from the log',
          '200 and the call',
          seen(own!),
          refs(own),
        ],
      },
      walls.foreign.in(evidence).map(
        (exchange): Told => ({
          'other-key-does-not': [
            !tells(exchange),
            `what another key gets of ${exchange.request.path.replace(requestId, '{id}')}`,
            'nothing of the call',
            seen(exchange),
            [ref(exchange)],
          ],
        }),
      ),
    ]
  },
})

const caller = {
  own: step('with an own credential'),
  fails: step('its provider fails'),
  other: step('another client without a credential'),
}

/** Names under which the mock searches for the credential, and for the gateway's key in the same call. */
const CREDENTIAL = 'credential of the caller'
const GATEWAY_KEY = 'gateway key beside a credential'

const FAILED = { error: { message: 'Not now. This is synthetic.', type: 'server_error' } }

check('KEEP-10', {
  needs: ['caller_credentials', 'variant:caller'],
  async exercise(session) {
    const { model, provider, key_header } = session.target.capabilities.caller_credentials!
    const { keys } = await session.another('caller')
    const credential = session.providerKeys().find(([name]) => name === `mock.${provider}.key`)![1]
    await session.watchForSecret(CREDENTIAL, credential)
    if (keys.client !== null) await session.watchForSecret(GATEWAY_KEY, keys.client)
    const as = (key: string | null) => ({ ...(key !== null && { [key_header]: key }) })
    const own = { key: null, headers: { ...as(keys.client), authorization: `Bearer ${credential}` } }
    await session.chat(caller.own, { model, ...own })
    await session.chat(caller.fails, {
      ...{ model, ...own },
      script: [
        { provider, status: 503, body: FAILED, times: 'every' },
        { scenario: 'plain', times: 'every' },
      ],
    })
    await session.chat(caller.other, { model, key: null, headers: as(keys.other) })
  },
  judge({ evidence, target }) {
    const { provider } = target.capabilities.caller_credentials!
    const [own, fails, other] = [caller.own, caller.fails, caller.other].map((each) => each.in(evidence)[0]!)
    const requests = (exchange: Exchange | undefined) => (exchange ? requestsOf(evidence, exchange) : [])
    const carrying = (exchange: Exchange | undefined, isMeant: (provider: string) => boolean) =>
      requests(exchange).filter((entry) => !isMeant(entry.provider) && entry.canaries.includes(CREDENTIAL))
    const there = requests(own).filter((entry) => entry.provider === provider)
    const none = (
      id: string,
      exchange: Exchange | undefined,
      what: string,
      isMeant = (_: string) => false,
    ) => {
      const found = carrying(exchange, isMeant)
      return finding(
        id,
        found.length === 0,
        what,
        { expected: 'none', actual: found.map((entry) => entry.provider).join(', ') || 'none' },
        refs(exchange, ...found),
      )
    }
    const withKey = evidence.ledger.filter(({ canaries }) => canaries.includes(GATEWAY_KEY))
    return [
      there.length === 0
        ? doubt('reaches-its-provider', `The call ended with ${endText(own!)} before ${provider} got it.`, [
            ref(own!),
          ])
        : {
            'reaches-its-provider': [
              there.some(({ credential }) => credential === 'match'),
              `the credential of a call at ${provider}`,
              "the caller's",
              there.map(({ credential }) => credential).join(', '),
              refs(own, ...there),
            ],
          },
      none(
        'not-on-fallback',
        fails,
        "other providers that got the caller's credential after a failure",
        (name) => name === provider,
      ),
      none('not-lent', other, "providers that got a caller's credential with another client's call"),
      {
        'gateway-key-stays': [
          withKey.length === 0,
          "requests to providers with the gateway's key",
          'none',
          String(withKey.length),
          refs(...withKey),
        ],
      },
    ]
  },
})

const inSession = step<{ session: number }>('call')

/** Name under which the mock searches for the second key. */
const SECOND = 'second key of the provider'

/**
 * Sessions that call in a different order in each round, so that rotation of keys does not look like a fixed
 * key for each session.
 */
const ORDERS = [
  [0, 1, 2, 3],
  [1, 0, 3, 2],
  [3, 3, 1, 2, 0],
]

check('KEEP-11', {
  needs: ['session', 'key_pool', 'variant:key-pool'],
  async exercise(session) {
    const { model, provider } = session.target.capabilities.key_pool!
    const { header } = session.target.capabilities.session!
    await session.another('key-pool')
    const key = session.providerKeys().find(([name]) => name === `mock.${provider}.key`)![1]
    await session.watchForSecret(SECOND, secondKeyOf(key))
    const run = session.nonce()
    for (const order of ORDERS)
      for (const n of order)
        await session.chat(inSession.with({ session: n }), { model, headers: { [header]: `${run}-${n}` } })
  },
  judge({ evidence, target }) {
    const { provider } = target.capabilities.key_pool!
    return [0, 1, 2, 3].map((session): Told => {
      const calls = inSession.in(evidence).filter(({ details }) => details.session === session)
      const requests = calls
        .flatMap((exchange) => requestsOf(evidence, exchange))
        .filter((entry) => entry.provider === provider && entry.credential === 'match')
      if (requests.length < 2)
        return doubt(
          'session-keeps-its-key',
          `${requests.length} of ${calls.length} calls of a session reached ${provider} with one of its keys.`,
          refs(...calls),
        )
      const keys = requests.map(({ canaries }) => (canaries.includes(SECOND) ? 'second' : 'first'))
      return {
        'session-keeps-its-key': [
          new Set(keys).size === 1,
          'the keys with which the calls of a session reached the provider',
          'one of them',
          keys.join(', '),
          requests.map(ref),
        ],
      }
    })
  },
})
