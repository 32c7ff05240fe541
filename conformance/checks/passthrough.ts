// Checks of calls that are relayed without being parsed: the requests of the suite, the requests that arrive at the mock,
// and the checks.
import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type LedgerEntry, writeNonce } from '../../mocks/ledger.ts'
import { amountIn, isRefused, recordIn, refs, requestIdOf } from '../dialects/lookup.ts'
import {
  difference,
  type Evidence,
  type Exchange,
  endText,
  recordExchange,
  step,
  stepText,
} from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import type { Target } from '../target/schema.ts'
import { doubt, each, family, finding, type Told } from './check.ts'

const BOUNDARY = 'a-boundary-of-the-suite'

/** Content of a file. Software for text or forms might change some of its bytes. */
const contentOf = (nonce: string): string =>
  `{"custom_id":"${writeNonce(nonce)}", "n":1.50}\r\n\ttab, \\u0041, two  spaces \n--another boundary\n`

/** Returns the upload of a file. */
const uploadOf = (nonce: string) => ({
  method: 'POST',
  headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  body: [
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n`,
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n`,
    `Content-Type: application/jsonl\r\n\r\n${contentOf(nonce)}\r\n--${BOUNDARY}--\r\n`,
  ].join(''),
})

/** Calls at endpoints that can spend: JSON in an unusual format. */
const RELAYED_CALLS = {
  moderations: {
    path: '/v1/moderations',
    body: (nonce: string) => `{ "input" : "${writeNonce(nonce)} \\u0061b" ,\n "metadata":{"n":1.50} }`,
  },
  audio: {
    path: '/v1/audio/speech',
    body: (nonce: string) =>
      `{ "voice":"alloy", "response_format":"pcm" ,\n"input":"${writeNonce(nonce)}","model":"tts-1" }`,
  },
} as const

const postJson = (body: string) => ({
  ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body },
})

/** Returns the id of the file in an answer; null if there is none. */
function fileIn({ status, body }: Exchange): string | null {
  const id = status === 200 ? at(jsonOf(body), '/id') : null
  return typeof id === 'string' && id !== '' ? id : null
}

/** Returns the requests with this nonce that the mock received. */
const arrivedOf = ({ ledger }: Pick<Evidence, 'ledger'>, nonce: unknown): LedgerEntry[] =>
  ledger.filter((entry) => entry.nonce === nonce)

/** Returns true if a plain ASCII body arrived byte for byte. */
const isSameBody = ({ body }: Exchange['request'], { body_sha256 }: LedgerEntry): boolean =>
  hash('sha256', body ?? '') === body_sha256

/** Returns true if JSON arrived with all its members and values; a gateway may add members. */
function keepsJson(sent: string | null, arrived: string | null): boolean {
  const [before, after] = [jsonOf(sent ?? ''), jsonOf(arrived ?? '')]
  return Object.entries(before ?? {}).every(([name, value]) =>
    isDeepStrictEqual(value, at(after, `/${name}`)),
  )
}

const check = family()

const recorded = {
  call: step<{ endpoint: string; nonce: string }>('relayed call'),
  upload: step<{ nonce: string }>('upload'),
  read: step('read of the file'),
}

/** Returns the reason why this target's records of relayed calls cannot be found; null if they can. */
function whyNoRecord({ observability: { headers, log } }: Target): string | null {
  if (headers.request_id === undefined)
    return 'its request ids are not in a header, and the body of a relayed answer is the provider’s'
  if (/^https?:/.test(log!.path))
    return 'its log has an address of its own, so that the records of another instance cannot be read'
  return null
}

check('PASS-01', {
  needs: ['passthrough', 'variant:passthrough', 'request_id'],
  async exercise(session) {
    const { endpoints } = session.target.capabilities.passthrough!
    await session.another('passthrough')
    for (const endpoint of ['moderations', 'audio'] as const) {
      if (!endpoints.includes(endpoint)) continue
      const nonce = session.nonce()
      const { path, body } = RELAYED_CALLS[endpoint]
      await session.record(
        await session.ask(recorded.call.with({ endpoint, nonce }), path, postJson(body(nonce))),
      )
    }
    if (!endpoints.includes('files')) return
    const nonce = session.nonce()
    const upload = await session.ask(recorded.upload.with({ nonce }), '/v1/files', uploadOf(nonce))
    await session.record(upload)
    const id = fileIn(upload)
    if (id !== null) await session.record(await session.ask(recorded.read, `/v1/files/${id}`))
  },
  judge({ evidence, target }) {
    const unreadable = whyNoRecord(target)
    if (unreadable !== null) return { 'relayed-is-recorded': { absent: unreadable } }
    const calls = [...recorded.call.in(evidence), ...recorded.upload.in(evidence)].map((exchange) => ({
      exchange,
      entries: arrivedOf(evidence, exchange.details.nonce),
    }))
    const reads = recorded.read.in(evidence).map((exchange) => ({
      exchange,
      entries: evidence.ledger.filter(
        ({ method, path }) => method === 'GET' && exchange.request.path.endsWith(path.split('/').at(-1)!),
      ),
    }))
    return [...calls, ...reads].map(({ exchange, entries }): Told => {
      const what = stepText(exchange)
      if (entries.length === 0)
        return [doubt('relayed-is-recorded', `"${what}" did not reach the mock.`, refs(exchange))]
      const reading = recordExchange(evidence, exchange)
      const record = reading && recordIn(target, reading, requestIdOf(target, exchange)!)
      const isThere = record !== undefined && record !== null
      const recorded = finding(
        'relayed-is-recorded',
        isThere,
        `the record of "${what}", which a provider got`,
        { expected: 'a record', actual: isThere ? 'a record' : `none (${reading?.status ?? 'no id'})` },
        refs(exchange, reading, ...entries),
      )
      const cost = at(record, target.observability.log!.fields.cost)
      if (!isThere || exchange.request.method !== 'GET') return [recorded]
      return [
        recorded,
        {
          'read-costs-nothing': [
            cost === undefined || cost === null || amountIn(cost) === 0,
            `the cost of "${what}"`,
            '0, or none',
            String(cost),
            refs(exchange, reading),
          ],
        },
      ]
    })
  },
})

const unchanged = {
  call: step<{ nonce: string }>('relayed JSON'),
  upload: step<{ nonce: string }>('upload'),
  content: step<{ nonce: string }>('content of the file'),
}

check('PASS-02', {
  needs: ['passthrough', 'variant:passthrough'],
  async exercise(session) {
    const { endpoints } = session.target.capabilities.passthrough!
    await session.another('passthrough')
    const nonce = session.nonce()
    if (endpoints.includes('moderations')) {
      const { path, body } = RELAYED_CALLS.moderations
      await session.ask(unchanged.call.with({ nonce }), path, postJson(body(nonce)))
    }
    if (!endpoints.includes('files')) return
    const id = fileIn(await session.ask(unchanged.upload.with({ nonce }), '/v1/files', uploadOf(nonce)))
    if (id !== null) await session.ask(unchanged.content.with({ nonce }), `/v1/files/${id}/content`)
  },
  judge({ evidence, waybill }) {
    const uploads = unchanged.upload.in(evidence)
    const sent = [...unchanged.call.in(evidence), ...uploads].flatMap((exchange) => {
      const { nonce } = exchange.details
      const isUpload = uploads.includes(exchange)
      const entries = arrivedOf(evidence, nonce).filter(
        ({ method, endpoint }) => method === 'POST' && exchange.request.path.endsWith(endpoint),
      )
      // A gateway may try another key or another provider after a refusal.
      const entry = entries.findLast((each) => !isRefused(each)) ?? entries[0]
      if (!entry)
        return [
          doubt('request-is-unchanged', `It did not reach the mock: ${endText(exchange)}.`, refs(exchange)),
        ]
      const body = typeof entry.body === 'string' ? entry.body : JSON.stringify(entry.body)
      const means = isUpload
        ? body.includes(contentOf(String(nonce)))
        : keepsJson(exchange.request.body, body)
      const arrived = finding(
        'request-is-unchanged',
        waybill ? isSameBody(exchange.request, entry) : means,
        isUpload ? 'the form with the file, as the provider got it' : 'the JSON that the provider got',
        {
          expected: waybill ? 'every byte' : 'the same content',
          actual: isUpload
            ? `a form of ${body.length} characters ${means ? 'with' : 'without'} the content of the file`
            : difference(body, exchange.request.body ?? ''),
        },
        refs(exchange, entry),
      )
      if (isUpload) return [arrived]
      const { body: answered } = entry.answer
      const isSame = exchange.body === answered
      const isAlike = isSame || keepsJson(answered, exchange.body)
      return [
        arrived,
        finding(
          'answer-is-unchanged',
          waybill ? isSame : isAlike,
          "the provider's answer, as the client got it",
          {
            expected: waybill ? 'every byte' : 'the same JSON',
            actual: `${endText(exchange)}, ${difference(exchange.body, answered ?? '')}`,
          },
          refs(exchange, entry),
        ),
      ]
    })
    const read = unchanged.content.in(evidence).map((exchange) =>
      finding(
        'file-comes-back-unchanged',
        exchange.status === 200 && exchange.body === contentOf(String(exchange.details.nonce)),
        'the content of a file that was uploaded',
        {
          expected: 'every byte',
          actual: `${endText(exchange)}, ${difference(exchange.body, contentOf(String(exchange.details.nonce)))}`,
        },
        refs(exchange),
      ),
    )
    return [...sent, ...read]
  },
})

const owned = {
  upload: step<{ nonce: string }>('upload'),
  own: step<{ what: string }>('the owner'),
  other: step<{ what: string }>('another key'),
  list: step('list of another key'),
}

const READS = [
  ['GET', ''],
  ['GET', '/content'],
  ['DELETE', ''],
] as const

check('PASS-03', {
  needs: ['passthrough', 'variant:passthrough', 'gateway_keys'],
  async exercise(session) {
    const { endpoints } = session.target.capabilities.passthrough!
    const { keys } = await session.another('passthrough')
    if (!endpoints.includes('files')) session.untestable('It relays no files.')
    const nonce = session.nonce()
    const id = fileIn(await session.ask(owned.upload.with({ nonce }), '/v1/files', uploadOf(nonce)))
    if (id === null) return
    const key = keys.other
    await session.ask(owned.list, '/v1/files', { key })
    for (const [method, part] of READS)
      await session.ask(owned.other.with({ what: `${method}${part}` }), `/v1/files/${id}${part}`, {
        method,
        key,
      })
    if (endpoints.includes('batches')) {
      const batch = {
        ...{ input_file_id: id, endpoint: '/v1/chat/completions', completion_window: '24h' },
        metadata: { note: writeNonce(session.nonce()) },
      }
      await session.ask(owned.other.with({ what: 'a batch of it' }), '/v1/batches', {
        ...{ ...postJson(JSON.stringify(batch)), key },
      })
    }
    await session.ask(owned.own.with({ what: 'GET' }), `/v1/files/${id}`)
    await session.ask(owned.own.with({ what: 'list' }), '/v1/files')
  },
  judge({ evidence, waybill }) {
    const [upload] = owned.upload.in(evidence)
    const id = upload ? fileIn(upload) : null
    if (!upload || id === null)
      return [
        doubt('foreign-file', `No file was made: ${upload ? endText(upload) : 'no upload'}.`, refs(upload)),
      ]
    const content = contentOf(String(upload.details.nonce))
    const isRefused = ({ status }: Exchange) =>
      status !== null && (waybill ? status === 404 : status >= 400 && status < 500)
    const expected = waybill ? '404' : 'a 4xx'
    return [
      owned.own.in(evidence).map(
        (exchange): Told => ({
          'own-file': [
            exchange.status === 200 && exchange.body.includes(id),
            `the file that a key has made: ${stepText(exchange)}, after another key has tried`,
            'it is there',
            endText(exchange),
            refs(upload, exchange),
          ],
        }),
      ),
      owned.other.in(evidence).map(
        (exchange): Told => ({
          'foreign-file': [
            isRefused(exchange) && !exchange.body.includes(content),
            `the file of another key: ${stepText(exchange)}`,
            expected,
            endText(exchange),
            refs(upload, exchange),
          ],
        }),
      ),
      owned.list.in(evidence).map(
        (exchange): Told => ({
          'foreign-file-is-not-in-the-list': [
            !exchange.body.includes(id),
            'the list of files that another key gets',
            'without it',
            exchange.body.includes(id) ? 'with it' : 'without it',
            refs(upload, exchange),
          ],
        }),
      ),
    ]
  },
})

const bounded = step<{ nonce: string }>('a speech, whose cost has no bound')

check('PASS-05', {
  needs: ['passthrough', 'budget', 'variant:budget'],
  async exercise(session) {
    await session.another('budget')
    if (!session.target.capabilities.passthrough!.endpoints.includes('audio'))
      session.untestable('It relays no audio.')
    const nonce = session.nonce()
    const { path, body } = RELAYED_CALLS.audio
    await session.ask(bounded.with({ nonce }), path, postJson(body(nonce)))
  },
  judge: each(bounded, ({ exchange, evidence, waybill }) => {
    const { status, details } = exchange
    const entries = arrivedOf(evidence, details.nonce)
    const isRefused = status !== null && (waybill ? status === 403 : status >= 400 && status < 500)
    return {
      'unbounded-call-is-refused': [
        isRefused && entries.length === 0,
        'a call of a key with a budget whose cost nobody can bound',
        `${waybill ? '403' : 'a 4xx'}, and nothing at the provider`,
        `${endText(exchange)}; ${entries.length} requests at the provider`,
        refs(exchange, ...entries),
      ],
    }
  }),
})
