// Makes the vectors of `conformance/vectors/` from data that was written by hand: deviations, the cases of losses, requests
// to current models, usages with their bills, refusals, and the wishes beside this file. Runs no code of the gateway, except
// for the lists themselves and the arithmetic of the suite's bills. `npm run docs` writes the files.
import { USAGES, usdOf } from '../../conformance/checks/cost.ts'
import type { ModelPrice } from '../../conformance/target/schema.ts'
import { answerText, type Deviation, readDeviations, streamBytes } from '../../mocks/deviations/read.ts'
import { type Row, TABLE } from '../../mocks/models/test-table.ts'
import { LOSSES } from '../../src/core/losses.ts'
import { LOSS_CASES, PLAIN_REQUESTS } from '../../src/dialects/test-loss-cases.ts'
import { refusalRows } from '../../src/models/refusals.ts'
import type { ProviderAnswer, Vector, VectorCheck, VectorFile } from './vector.ts'
import { WISHES } from './wishes.ts'

const DIALECTS = ['chat', 'messages', 'responses', 'gemini'] as const
type Dialect = (typeof DIALECTS)[number]

/** The set grows only at its end: a vector that was published keeps its id and its meaning. */
const [SET, DATE] = ['1.0', '2026-11-29']

/** Maximum length of a request in a vector; longer ones test limits of context only. */
const MAX_REQUEST_LENGTH = 4_096

const json = (value: unknown) => JSON.parse(JSON.stringify(value))
const slug = (text: string) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 48)

class Rules {
  readonly all: Record<string, VectorFile['rules'][string]> = {}

  add(id: string, what: string, known: string): string {
    this.all[id] ??= { what, known }
    return id
  }
}

const file = (
  kind: VectorFile['kind'],
  rules: Rules,
  vectors: Vector[],
  answers?: VectorFile['answers'],
): VectorFile => ({
  version: 1,
  set: SET,
  date: DATE,
  kind,
  rules: rules.all,
  ...(answers && { answers }),
  vectors: withUniqueIds(vectors),
})

/** Numbers ids that several vectors have, in their order. */
function withUniqueIds(vectors: readonly Vector[]): Vector[] {
  const times = new Map<string, number>()
  return vectors.map((each) => {
    const n = (times.get(each.id) ?? 0) + 1
    times.set(each.id, n)
    return n === 1 ? each : { ...each, id: `${each.id}/${n}` }
  })
}

// Answers

/** Returns what a client of a dialect must conclude: the alternatives of an answer. */
function conclusions({ concludes, dialect }: Deviation, client: Dialect): VectorCheck[][] {
  const { end, usage, doubt, text, reasoning, calls, stop_sequence } = concludes
  const isOther = client !== dialect
  if (end === 'failed') return [[['is', '/end', 'failed']]]
  const ends: Record<string, string[]> = {
    filter: ['filter', 'refusal'],
    refusal: ['refusal', 'filter'],
    // Only Messages has a word of its own for it.
    ...(client !== 'messages' && { stop_sequence: ['stop', 'stop_sequence'] }),
  }
  const base: VectorCheck[] = [
    ends[end] ? ['one', '/end', ends[end]] : ['is', '/end', end],
    ['is', '/text', text],
    // A translation may leave out reasoning, but not a part of it.
    isOther && reasoning !== '' ? ['one', '/reasoning', [reasoning, '']] : ['is', '/reasoning', reasoning],
    ['is', '/calls', calls],
  ]
  if (stop_sequence !== undefined && client === 'messages') base.push(['is', '/stop_sequence', stop_sequence])
  if (usage === undefined) return [base]
  const names = usage === 'none' ? { input: 0, output: 0 } : usage
  const counts = Object.entries(names).flatMap(([name, count]): VectorCheck[] =>
    // Gemini has no word for tokens that were written to a cache.
    count === undefined || (isOther && client === 'gemini' && name === 'cache_write')
      ? []
      : [['count', `/usage/${name}`, count]],
  )
  if (!doubt) return counts.length > 0 ? [[...base, ...counts]] : [base]
  return [
    [...base, ['is', '/doubt', true]],
    [...base, ['is', '/usage', null]],
  ]
}

function answers(): VectorFile {
  const rules = new Rules()
  const sent: Record<string, ProviderAnswer> = {}
  const vectors = readDeviations()
    .filter(({ status }) => status < 400)
    .flatMap((each): Vector[] => {
      const rule = rules.add(each.cause, each.what, 'By hand from the reports that each answer names.')
      const forms = [
        ['stream', streamBytes(each)],
        ['whole', answerText(each)],
      ] as const
      return forms.flatMap(([form, bytes]) => {
        if (bytes === null) return []
        const name = `${each.dialect}/${each.id}/${form}`
        const content = Buffer.from(bytes)
        const text = content.toString()
        const isText = Buffer.from(text).equals(content)
        sent[name] = {
          ...{ what: each.what, by: each.by, source: each.source, dialect: each.dialect, form },
          ...{
            headers: each.headers,
            ...(isText ? { text } : { base64: content.toString('base64') }),
            cut: each.cut,
          },
        }
        return DIALECTS.map((client) => {
          const given = { answer: name, client, asked: client === each.dialect ? (each.ask ?? form) : form }
          return { id: `${name}/${client}`, rule, given, expect: conclusions(each, client) }
        })
      })
    })
  return file('answer', rules, vectors, sent)
}

// Requests

function wishes(rules: Rules): Vector[] {
  return Object.entries(WISHES).flatMap(([id, { what, asks, reaches }]) => {
    const rule = rules.add(`reaches/${id}`, what, 'By hand from the documents of the dialects.')
    return DIALECTS.flatMap((client) =>
      DIALECTS.flatMap((provider): Vector[] => {
        const members = asks[client]
        if (!members || client === provider) return []
        const given = { client, provider, model: 'm', body: json({ ...PLAIN_REQUESTS[client], ...members }) }
        return [{ id: `${id}/${client}/${provider}`, rule, given, expect: json(reaches[provider]) }]
      }),
    )
  })
}

function losses(rules: Rules): Vector[] {
  return LOSS_CASES.map(({ from: client, to: provider, request = {}, answer, forwarded, loses }): Vector => {
    const [first = 'none'] = loses
    const what = first === 'none' ? 'Nothing is lost.' : LOSSES[first as keyof typeof LOSSES]
    const rule = rules.add(`loses/${first}`, what, 'By hand, from the documents of both dialects.')
    const given = {
      ...{ client, provider, model: 'm', body: json({ ...PLAIN_REQUESTS[client], ...request }) },
      ...(answer && { answer: json(answer) }),
      ...(forwarded && { header_names: [...forwarded] }),
    }
    const named: VectorCheck[] = [['is', '/losses', [...loses]]]
    const refused: VectorCheck[][] = loses.length > 0 && !answer ? [[['one', '/refused', [400, 422]]]] : []
    return {
      id: `loses/${client}/${provider}/${loses.join('+') || 'nothing'}`,
      rule,
      given,
      expect: [named, ...refused],
    }
  })
}

const ENDPOINTS: Readonly<Record<string, Dialect>> = {
  'anthropic messages': 'messages',
  'openai chat/completions': 'chat',
  'openai responses': 'responses',
}
const OPTIONS = { temperature: 'temperature', top_p: 'topP', top_k: 'topK' } as const

/** Members that a model refuses, asked for in other dialects: they must not reach the provider. */
function refusedOptions(rules: Rules): Vector[] {
  return TABLE.flatMap(({ provider, endpoint, model, body, refused }) => {
    const dialect = ENDPOINTS[`${provider} ${endpoint}`]
    const asked = Object.keys(OPTIONS).filter((name) => name in body) as (keyof typeof OPTIONS)[]
    const others = Object.keys(body).filter(
      (name) => !['model', 'messages', 'input', 'max_tokens', ...asked].includes(name),
    )
    const [name] = asked
    if (refused === null || !dialect || asked.length !== 1 || others.length > 0 || name === undefined)
      return []
    const value = body[name]
    const rule = rules.add(
      `refused-by-model/${name}`,
      `A model refuses ${name}, which must not reach it in a translation.`,
      'By hand from the documents of the provider and from refusals that were reported.',
    )
    return DIALECTS.filter(
      (client) => client !== dialect && (name !== 'top_k' || client === 'gemini' || client === 'messages'),
    ).map((client): Vector => {
      const members =
        client === 'gemini' ? { generationConfig: { [OPTIONS[name]]: value } } : { [name]: value }
      return {
        id: `refused-by-model/${name}/${model}/${client}`,
        rule,
        given: {
          client,
          provider: dialect,
          at: provider,
          model,
          body: json({ ...PLAIN_REQUESTS[client], model, ...members }),
        },
        expect: [[['absent', `/sent/${name}`]], [['one', '/refused', [400, 422]]]],
      }
    })
  })
}

function requests(): VectorFile {
  const rules = new Rules()
  return file('request', rules, [...wishes(rules), ...losses(rules), ...refusedOptions(rules)])
}

// Models

const SOURCES: Readonly<Record<Row['source'], string>> = {
  A: 'By hand from the documentation of Anthropic.',
  O: 'By hand from the documentation of OpenAI.',
  G: 'By hand from the documentation of Google.',
  X: 'By hand from the documentation of the provider.',
  R: 'By hand from refusals that were reported.',
}

function models(): VectorFile {
  const rules = new Rules()
  const vectors = TABLE.filter(({ body }) => JSON.stringify(body).length <= MAX_REQUEST_LENGTH).map(
    ({ provider, endpoint, model, body, headers, refused, status, source }): Vector => {
      const name = refused === null ? `accepted/${slug(endpoint)}` : `refused/${slug(refused)}`
      const what =
        refused === null
          ? `The model accepts the request at ${endpoint}.`
          : `The model refuses the request: ${refused}`
      const rule = rules.add(`${provider}/${name}`, what, SOURCES[source])
      const expect: VectorCheck[] =
        refused === null
          ? [['is', '/accepted', true]]
          : [
              ['is', '/accepted', false],
              ['is', '/status', status],
              ['has', '/words', refused],
            ]
      const given = { provider, endpoint, model, body: json(body), headers: json(headers) }
      return { id: `${provider}/${slug(model)}/${name}`, rule, given, expect: [expect] }
    },
  )
  return file('model', rules, vectors)
}

// Costs

/** Prices in US dollars per million tokens. They are made up, so that no built-in price is right by chance. */
const PRICES: Readonly<Record<'openai' | 'anthropic' | 'google', ModelPrice>> = {
  openai: {
    input: 0.25,
    output: 2,
    cached_input: 0.025,
    over: { tokens: 200_000, input: 0.5, output: 3, cached_input: 0.05 },
    service_tier: { flex: 0.5, priority: 1.8 },
  },
  anthropic: {
    ...{ input: 2, output: 10, cached_input: 0.2, cache_write: 2.5, cache_write_1h: 4, web_search: 0.01 },
    ...{
      over: { tokens: 200_000, input: 4, output: 15, cached_input: 0.4 },
      service_tier: { batch: 0.5 },
      speed: { fast: 2 },
      region: { us: 1.1 },
    },
  },
  google: {
    input: 0.5,
    output: 3,
    cached_input: 0.05,
    over: { tokens: 200_000, input: 1, output: 4.5, cached_input: 0.1 },
  },
}
const PRICED = { chat: 'openai', responses: 'openai', messages: 'anthropic', gemini: 'google' } as const

interface ReportedUsage {
  readonly input: number
  readonly output: number
  readonly cached?: number
  readonly written?: number
  readonly written_1h?: number
  readonly reasoning?: number
  readonly searches?: number
  readonly cost?: number
  readonly tier?: string
  readonly speed?: string
  readonly region?: string
  readonly compaction?: { readonly input: number; readonly output: number }
}

type Writer = (usage: ReportedUsage, model: string) => object

const chatAnswer: Writer = ({ input, output, cached = 0, reasoning = 0, tier, cost }, model) => ({
  ...{
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 0,
    model,
    ...(tier && { service_tier: tier }),
  },
  choices: [{ index: 0, message: { role: 'assistant', content: 'It is known.' }, finish_reason: 'stop' }],
  usage: {
    ...{ prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
    ...{
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: reasoning },
    },
    ...(cost !== undefined && { cost }),
  },
})

const messagesAnswer: Writer = (
  {
    input,
    output,
    cached = 0,
    written = 0,
    written_1h = 0,
    tier = 'standard',
    speed,
    region,
    searches,
    compaction,
  },
  model,
) => {
  const counts = { input_tokens: input - cached - written - written_1h, output_tokens: output }
  return {
    ...{
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model,
      stop_reason: 'end_turn',
      stop_sequence: null,
    },
    content: [{ type: 'text', text: 'It is known.' }],
    usage: {
      ...counts,
      ...{ cache_read_input_tokens: cached, cache_creation_input_tokens: written + written_1h },
      cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: written_1h },
      ...{ service_tier: tier, ...(speed && { speed }), ...(region && { inference_geo: region }) },
      ...(searches && { server_tool_use: { web_search_requests: searches } }),
      ...(compaction && {
        iterations: [
          { type: 'compaction', input_tokens: compaction.input, output_tokens: compaction.output },
          { type: 'message', ...counts },
        ],
      }),
    },
  }
}

const responsesAnswer: Writer = ({ input, output, cached = 0, reasoning = 0, tier = 'default' }, model) => ({
  ...{ id: 'resp_1', object: 'response', created_at: 0, model, status: 'completed', service_tier: tier },
  output: [
    {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'It is known.', annotations: [] }],
    },
  ],
  usage: {
    ...{ input_tokens: input, output_tokens: output, total_tokens: input + output },
    ...{
      input_tokens_details: { cached_tokens: cached },
      output_tokens_details: { reasoning_tokens: reasoning },
    },
  },
})

const geminiAnswer: Writer = ({ input, output, cached, reasoning = 0 }, model) => ({
  candidates: [
    { index: 0, content: { role: 'model', parts: [{ text: 'It is known.' }] }, finishReason: 'STOP' },
  ],
  modelVersion: model,
  usageMetadata: {
    ...{
      promptTokenCount: input,
      candidatesTokenCount: output - reasoning,
      totalTokenCount: input + output,
    },
    ...(reasoning > 0 && { thoughtsTokenCount: reasoning }),
    ...(cached && { cachedContentTokenCount: cached }),
  },
})

/** Writes a whole answer with a usage, as the provider of a dialect does. */
const WRITERS: Readonly<Record<Dialect, Writer>> = {
  chat: chatAnswer,
  messages: messagesAnswer,
  responses: responsesAnswer,
  gemini: geminiAnswer,
}

function bills(rules: Rules): Vector[] {
  return Object.values(USAGES).flatMap((rows) =>
    rows.flatMap((row) => {
      const rule = rules.add(
        `cost/${row.finding}`,
        `A usage and its bill: ${row.finding.replaceAll('-', ' ')}.`,
        'Counts of the bill, written by hand, times the prices in the vector.',
      )
      return (row.dialects ?? DIALECTS).flatMap((dialect): Vector[] => {
        const price = PRICES[PRICED[dialect as Dialect]]
        const usd = row.usd ?? usdOf(row, price)
        if (usd === null) return []
        const model = 'model-a'
        const given = {
          dialect,
          model,
          prices: { [model]: price },
          answer: WRITERS[dialect as Dialect](row.usage, model),
        }
        return [
          {
            id: `cost/${slug(row.row)}/${dialect}`,
            rule,
            given: json(given),
            expect: [[['is', '/usd', Number(usd.toPrecision(12))]]],
          },
        ]
      })
    }),
  )
}

/** Made-up prices of models that answer for each other, by the dialect in which they do. */
const FAMILIES: Readonly<Record<Dialect, Readonly<Record<string, ModelPrice>>>> = {
  chat: {
    'gpt-5-mini': { input: 0.25, output: 2 },
    'gpt-4o': { input: 3, output: 11 },
    'deepseek/deepseek-v4-flash': { input: 0.1, output: 0.3 },
    'anthropic/claude-opus-5.5': { input: 4, output: 20 },
  },
  messages: {
    'claude-haiku-4-5': { input: 1.5, output: 6 },
    'claude-opus-5-5': { input: 4, output: 21 },
    'claude-sonnet-5': { input: 2, output: 9 },
  },
  responses: {
    'gpt-4.1': { input: 2.5, output: 8 },
    'gpt-5-mini': { input: 0.25, output: 2 },
    o3: { input: 6, output: 30 },
  },
  gemini: { 'gemini-2.5-pro': { input: 1, output: 9 }, 'gemini-2.5-flash': { input: 0.3, output: 2.5 } },
}

/** Answers of 1,000 tokens in and 1,000 out from another model than the one that was asked. */
function others(rules: Rules): Vector[] {
  const priced = rules.add(
    'cost/another-model',
    'Another model answered, at whose price the call is billed.',
    'Tokens times the price of the model that answered.',
  )
  const usage = { input: 1_000, output: 1_000 }
  return DIALECTS.flatMap((dialect) =>
    Object.entries(FAMILIES[dialect]).flatMap(([model, asked]) =>
      Object.entries(FAMILIES[dialect]).flatMap(([served, price]): Vector[] => {
        if (served === model) return []
        const given = {
          dialect,
          model,
          prices: { [model]: asked, [served]: price },
          answer: WRITERS[dialect](usage, served),
        }
        const usd = (usage.input * price.input! + usage.output * price.output!) / 1e6
        const id = `cost/another-model/${dialect}/${slug(model)}/${slug(served)}`
        return [{ id, rule: priced, given: json(given), expect: [[['is', '/usd', usd]]] }]
      }),
    ),
  )
}

function costs(): VectorFile {
  const rules = new Rules()
  return file('cost', rules, [...bills(rules), ...others(rules)])
}

// Refusals

function refusals(): VectorFile {
  const rules = new Rules()
  const known = refusalRows().flatMap(
    ({ provider, cause, status, codes, says, source, date, sent }): Vector[] => {
      const rule = rules.add(
        `refusal/${provider}/${cause}/${slug(says ?? codes[0]!)}`,
        `${provider} refuses (${cause}): ${says ?? codes[0]}`,
        'By hand from the report that each vector names.',
      )
      return status.map(
        (each): Vector => ({
          id: `${rule}/${each}`,
          rule,
          source: [{ url: source, ...(date && { date }) }],
          given: { dialect: 'chat', status: each, headers: {}, body: JSON.stringify(sent) },
          expect: [
            [
              ['is', '/elsewhere', cause !== 'content'],
              ...(cause === 'content' ? [['is', '/status', each] as VectorCheck] : []),
            ],
          ],
        }),
      )
    },
  )
  const deviating = readDeviations()
    .filter(({ status }) => status >= 400)
    .flatMap((each): Vector[] => {
      const { whose, not_repeated } = each.concludes.error ?? {}
      if (whose === undefined || (whose === 'client' && !not_repeated)) return []
      const rule = rules.add(
        `refusal/${each.cause}`,
        each.what,
        'By hand from the reports that each vector names.',
      )
      const given = {
        dialect: each.dialect,
        status: each.status,
        headers: each.headers,
        body: answerText(each) ?? streamBytes(each)!.toString(),
      }
      return [
        {
          id: `${rule}/${each.dialect}/${each.id}`,
          rule,
          source: each.source,
          given,
          expect: [[['is', '/elsewhere', whose !== 'client']]],
        },
      ]
    })
  return file('refusal', rules, [...known, ...deviating])
}

/** Returns all files of vectors, with one vector in each line. */
export function vectorFiles(): Readonly<Record<string, VectorFile>> {
  return { answers: answers(), requests: requests(), models: models(), costs: costs(), refusals: refusals() }
}

/** Writes a file of vectors as JSON. */
export function vectorText({ vectors, rules, answers, ...head }: VectorFile): string {
  const lines = (all: object) =>
    Object.entries(all).map(([name, each]) => `${JSON.stringify(name)}: ${JSON.stringify(each)}`)
  const parts = [
    ...lines(head),
    `"rules": {\n${lines(rules).join(',\n')}\n}`,
    ...(answers ? [`"answers": {\n${lines(answers).join(',\n')}\n}`] : []),
    `"vectors": [\n${vectors.map((each) => JSON.stringify(each)).join(',\n')}\n]`,
  ]
  return `{\n${parts.join(',\n')}\n}\n`
}
