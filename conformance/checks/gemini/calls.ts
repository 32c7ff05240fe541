// Checks of the Gemini dialect: keys, models, requests, token counts and the list of models.

import { isDeepStrictEqual } from 'node:util'
import { writeNonce } from '../../../mocks/ledger.ts'
import { ref, refs, where } from '../../dialects/lookup.ts'
import { type Exchange, endText, step, stepText } from '../../evidence/evidence.ts'
import { at, jsonOf } from '../../evidence/reading.ts'
import { declares } from '../../target/schema.ts'
import { absent, callEach, each, family, finding, type Told } from '../check.ts'
import { refusedInShape } from '../responses/parts.ts'
import { isNotOffered } from '../server/parts.ts'

const check = family({ needs: ['gemini'], dialect: 'gemini' })

const rightKey = step<{ place: string }>('the right key')
const wrongKey = step<{ place: string }>('a wrong key')

const WRONG = 'AIza-wrong-key-of-the-suite'

/** Returns the ways in which Google's clients send a key. */
const places = (key: string) => ({
  'x-goog-api-key': { key: null, headers: { 'x-goog-api-key': key } },
  '?key=': { key: null, query: `?key=${encodeURIComponent(key)}` },
})

check('GEM-01', {
  needs: ['gemini', 'gateway_keys'],
  async exercise(session) {
    const { client } = session.running.keys
    if (client === null)
      return session.untestable('the target file declares gateway keys, but none is in use')
    for (const [place, shown] of Object.entries(places(WRONG)))
      await session.chat(wrongKey.with({ place }), shown)
    // Keys of a gateway on another machine are real, and URLs may end up in its logs.
    for (const [place, shown] of Object.entries(places(client)))
      if (place !== '?key=' || declares(session.target, 'files'))
        await session.chat(rightKey.with({ place }), shown)
  },
  judge: [
    each(rightKey, ({ exchange, entry, quoted }) => {
      const seen = entry?.canaries.filter((name) => name.startsWith('key.')) ?? []
      return {
        'key-is-accepted': [
          exchange.status === 200 && entry !== null,
          `the answer to ${quoted}`,
          '200',
          `${endText(exchange)}${entry ? '' : ', and no provider was asked'}`,
        ],
        'key-stays-here': [
          seen.length === 0,
          `gateway keys at the provider after ${quoted}`,
          'none',
          seen.join(', ') || 'none',
        ],
      }
    }),
    each(wrongKey, ({ exchange, entry, quoted, evidence }) => [
      refusedInShape('wrong-key-is-refused', evidence, exchange),
      {
        'wrong-key-asks-nobody': [
          entry === null,
          `requests to the provider after ${quoted}`,
          'none',
          entry ? 'one' : 'none',
        ],
      },
    ]),
  ],
})

const inPath = step<{ model: string; spelling: string; stream: boolean }>('call')

/** Members of current requests, and one unknown member. */
const BODY = {
  systemInstruction: { parts: [{ text: 'Answer in one word.' }] },
  generationConfig: {
    ...{ temperature: 0.25, topP: 0.5, maxOutputTokens: 64, stopSequences: ['END'], seed: 7 },
    thinkingConfig: { includeThoughts: true, thinkingBudget: 128 },
  },
  safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_ONLY_HIGH' }],
  tools: [
    {
      functionDeclarations: [
        {
          name: 'look_up',
          description: 'Looks up.',
          parametersJsonSchema: { type: 'object', properties: {} },
        },
      ],
    },
  ],
  toolConfig: { functionCallingConfig: { mode: 'AUTO' } },
  waybillProbe: { kept: true },
}
const HEADERS = { 'x-goog-waybill-probe': 'kept', 'x-goog-api-client': 'genai-js/0' }
const QUERY = 'waybillProbe=kept'

check('GEM-02', {
  needs: ['gemini', 'direct'],
  relays: true,
  async exercise(session) {
    const { pathOf } = session.dialect
    for (const { id } of session.target.models.direct)
      for (const stream of [false, true])
        for (const [spelling, model] of Object.entries({ plain: id, encoded: encodeURIComponent(id) }))
          if (spelling === 'plain' || model !== id)
            await session.chat(inPath.with({ model: id, spelling, stream }), {
              ...{ stream, model: id, body: BODY, headers: HEADERS, query: `?${QUERY}` },
              path: pathOf!({ model, stream, prompt: '', body: {} }),
              script: [{ scenario: 'plain' }],
            })
  },
  judge: each(inPath, ({ exchange, details, entry, crossed, quoted, target }) => {
    if (crossed) return []
    const wanted = target.dialects.gemini!.models!.direct.find(({ id }) => id === details.model)!
    const what = quoted
    const goal = finding(
      'model-from-the-path',
      entry !== null && where(entry) === where(wanted),
      `the model that ${what} reached`,
      { expected: where(wanted), actual: entry ? where(entry) : `none: ${endText(exchange)}` },
      refs(exchange, entry),
    )
    if (!entry) return [goal]
    const sent = jsonOf(exchange.request.body ?? '')
    const lost = Object.entries(HEADERS).flatMap(([name, value]) =>
      name.includes('probe') && entry.headers[name] !== value ? name : [],
    )
    return [
      goal,
      {
        'body-is-unchanged': [
          isDeepStrictEqual(entry.body, sent),
          `the body of ${what}`,
          JSON.stringify(sent),
          JSON.stringify(entry.body),
        ],
        'query-arrives': [
          entry.query.split('&').includes(QUERY),
          `the query of ${what}`,
          QUERY,
          entry.query || 'none',
        ],
        'headers-arrive': [
          lost.length === 0,
          `headers of ${what} that did not arrive`,
          'none',
          lost.join(', ') || 'none',
        ],
      },
    ]
  }),
})

const unknownModel = step<{ model: string }>('call')

check('GEM-07', {
  exercise: callEach(unknownModel, { model: ['gemini-of-tomorrow', 'nobody/nothing'] }, ({ model }) => ({
    model,
  })),
  judge: each(unknownModel, ({ exchange, entry, quoted }) => {
    const status = at(jsonOf(exchange.body), '/error/status')
    const isRouted = exchange.status === 200 && entry !== null
    return {
      'default-or-not-found': [
        isRouted || (exchange.status === 404 && status === 'NOT_FOUND' && entry === null),
        `the answer to ${quoted}`,
        '200 from the default route, or 404 NOT_FOUND and no request',
        `${endText(exchange)} ${status ?? ''}${entry ? ', and a provider was asked' : ''}`,
      ],
    }
  }),
})

const count = step<{ about: string }>('count')

const LONG = 'A way that is told at length. '.repeat(40)

/** Requests with the same text. `little` is the smallest; each other request adds content. */
const bodies = (model: string, text: string): Readonly<Record<string, object>> => {
  const contents = [{ role: 'user', parts: [{ text }] }]
  const all = (more: object) => ({ generateContentRequest: { model: `models/${model}`, contents, ...more } })
  return {
    little: { contents },
    'a long text': { contents: [{ role: 'user', parts: [{ text }, { text: LONG }] }] },
    'a call and its result': {
      contents: [
        ...contents,
        { role: 'model', parts: [{ functionCall: { name: 'look_up', args: { way: LONG } } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'look_up', response: { told: LONG } } }] },
      ],
    },
    'an instruction': all({ systemInstruction: { parts: [{ text: LONG }] } }),
    'a tool': all({ tools: [{ functionDeclarations: [{ name: 'look_up', description: LONG }] }] }),
  }
}

check('GEM-08', {
  async exercise(session) {
    const text = `Count. ${writeNonce(session.nonce())}`
    for (const [about, body] of Object.entries(bodies(session.model, text)))
      await session.ask(count.with({ about }), `/v1beta/models/${session.model}:countTokens`, {
        ...{ method: 'POST', headers: session.callHeaders, body: JSON.stringify(body) },
      })
    await session.drain()
  },
  judge({ evidence }) {
    const asked = count.in(evidence)
    const spent = evidence.ledger.filter(({ kind }) => kind === 'inference')
    const never = finding(
      'counts-never-spend',
      spent.length === 0,
      `inferences while tokens were counted ${asked.length} times`,
      { expected: 'none', actual: String(spent.length) },
      [...asked.slice(0, 1), ...spent].map(ref),
    )
    if (asked.every(isNotOffered))
      return [absent('is-counted', 'It does not count tokens.', asked.map(ref)), never.ok ? [] : [never]]
    // A gateway is not responsible for a provider's count.
    const isEstimated = evidence.ledger.every(({ kind }) => kind !== 'token_count')
    const tokensOf = (body: string) => at(jsonOf(body), '/totalTokens')
    const least = Number(tokensOf(asked[0]!.body))
    return [
      never,
      asked.map((exchange): Told => {
        const tokens = tokensOf(exchange.body)
        const isMore = exchange === asked[0] || !isEstimated || (tokens as number) > least
        return {
          'is-counted': [
            exchange.status === 200 && Number.isInteger(tokens) && (tokens as number) > 0 && isMore,
            `the answer to "${stepText(exchange)}"`,
            `200 with totalTokens${exchange === asked[0] ? '' : ` above ${least}`}`,
            `${endText(exchange)}, ${tokens === undefined ? 'no totalTokens' : `totalTokens ${tokens}`}`,
            refs(exchange),
          ],
        }
      }),
    ]
  },
})

const listing = { list: step('the list'), one: step<{ model: string }>('one model') }

const PREFIX = /^models\//
/** Number of listed models that are also read one by one. */
const MAX_SINGLES = 3

/** Returns the names in a list in Google's format. */
function namesIn({ body }: Exchange): string[] {
  const models = at(jsonOf(body), '/models')
  return (Array.isArray(models) ? models : []).map((each) => String(at(each, '/name')))
}

check('GEM-09', {
  async exercise(session) {
    const { headers } = session.dialect
    const list = await session.ask(listing.list, '/v1beta/models', { headers })
    for (const name of namesIn(list).slice(0, MAX_SINGLES)) {
      const model = name.replace(PREFIX, '')
      await session.ask(listing.one.with({ model }), `/v1beta/models/${model}`, { headers })
    }
  },
  judge({ evidence }) {
    const [list] = listing.list.in(evidence)
    const singles = listing.one.in(evidence)
    const names = namesIn(list!)
    const isShaped = names.every((name) => /^(models|tunedModels)\//.test(name))
    return [
      isNotOffered(list!)
        ? absent('list-is-in-shape', 'It does not list models for Google’s clients.', [ref(list!)])
        : {
            'list-is-in-shape': [
              list!.status === 200 && names.length > 0 && isShaped,
              'the list of models',
              '200 with models, each with a name that begins with models/',
              `${endText(list!)}, ${names.slice(0, 3).join(', ') || 'no models'}`,
              [ref(list!)],
            ],
          },
      singles.map((exchange): Told => {
        const { model } = exchange.details
        if (isNotOffered(exchange))
          return absent('one-is-in-shape', `It does not show ${model} alone.`, [ref(exchange)])
        const name = at(jsonOf(exchange.body), '/name')
        return {
          'one-is-in-shape': [
            exchange.status === 200 && name === `models/${model}`,
            `the answer about ${model}`,
            `200 with the name models/${model}`,
            `${endText(exchange)}, ${name ?? 'no name'}`,
            [ref(exchange)],
          ],
        }
      }),
    ]
  },
})
