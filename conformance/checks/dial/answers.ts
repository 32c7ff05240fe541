// Checks of answers at every target: the same meaning, no contradiction, unknown members, and a visible break.

import { isDeepStrictEqual } from 'node:util'
import type { ScriptedAnswer } from '../../../mocks/server/script.ts'
import type { DialectName } from '../../dialects/dialect.ts'
import {
  dialectOf,
  everyModel,
  isCrossed,
  modelsOf,
  readAnswer,
  readSent,
  refs,
  servedBy,
} from '../../dialects/lookup.ts'
import { type Evidence, type Exchange, listed, step, stepText } from '../../evidence/evidence.ts'
import { type AnyJson, jsonOf, readEvents } from '../../evidence/reading.ts'
import { type Contradictions, contradictions } from '../agreement.ts'
import { callEach, doubt, each, type Finding, family, finding, type Told, thenCoolDown } from '../check.ts'
import { endsInError, sameAs } from '../expect.ts'
import { sameAnswer } from '../flow/parts.ts'
import { INCLUDE } from '../log/parts.ts'
import { message, response } from '../responses/parts.ts'

const check = family()

/** Answers of every kind, from each model. */
const answerStep = step<{ model: string; scenario: string; stream: boolean }>('answer')

const SCENARIOS = [
  ...['plain', 'tools-parallel', 'finish-tool-calls', 'reasoning'],
  ...['finish-length', 'usage-cached'],
]

/** RFC 8259, section 6, only guarantees the digits that a double holds, so other gateways may round. */
const LONG_NUMBERS = 'tools-long-numbers'

/**
 * Compares thoughts. Thoughts may be missing, because not every dialect has them and not every client
 * requests them. Different thoughts always fail.
 */
function sameThoughts(evidence: Evidence, exchange: Exchange, waybill: boolean): Finding[] {
  const entry = servedBy(evidence, exchange)
  if (entry === null) return []
  const [got, sent] = [readAnswer(exchange).reasoning, readSent(entry).reasoning]
  return [
    finding(
      'same-reasoning',
      got === sent || (got === '' && !waybill),
      `the reasoning that the client read in "${stepText(exchange)}"`,
      { expected: `${sent || 'none'}, as the provider sent it`, actual: got || 'none' },
      refs(exchange, entry),
    ),
  ]
}

check('DIAL-11', {
  timeout: 90_000,
  exercise: callEach(
    answerStep,
    { model: modelsOf, scenario: [...SCENARIOS, LONG_NUMBERS], stream: [false, true] },
    ({ model, scenario, stream }) => ({
      ...{ model, stream, script: [{ scenario }] },
      body: stream ? INCLUDE : {},
    }),
  ),
  judge: (judging) =>
    answerStep.in(judging.evidence).map((exchange): Told => {
      const { evidence, waybill } = judging
      const entry = servedBy(evidence, exchange)
      if (entry === null)
        return [doubt('same-answer', `"${stepText(exchange)}" reached no provider`, refs(exchange))]
      if (exchange.details.scenario === LONG_NUMBERS)
        return [
          { ...sameAnswer(evidence, exchange, ['tools']), id: 'long-numbers-keep-digits', advice: true },
        ]
      return [
        sameAnswer(evidence, exchange, ['content', 'tools', 'finish']),
        exchange.details.stream ? [sameAs('same-end', 'end', { exchange, evidence })] : [],
        sameAs('same-usage', 'usage', { exchange, evidence }),
        ...sameThoughts(evidence, exchange, waybill),
      ]
    }),
})

const CONTRADICTIONS: Readonly<Record<keyof Contradictions, readonly [id: string, expected: string]>> = {
  texts: ['deltas-make-the-whole', 'the same in deltas, finished parts and the last event'],
  ids: ['ids-stay', 'each thing has one id throughout'],
  places: ['indexes-lead-to-what-began', 'the place where it began'],
  names: ['events-are-named', 'the type in its data'],
  states: ['states-agree', 'completed or incomplete, as the event that ends it'],
}

check('DIAL-12', {
  shares: 'DIAL-11',
  judge: each(answerStep, ({ exchange, details, entry, quoted }) => {
    if (details.scenario === LONG_NUMBERS) return []
    const { name } = dialectOf(exchange)
    const got = contradictions(name, exchange.body)
    // The gateway is not responsible for the content of a relayed answer.
    const theirs = entry && !isCrossed(exchange, entry) ? contradictions(name, entry.answer.body ?? '') : null
    return (Object.keys(CONTRADICTIONS) as (keyof Contradictions)[]).map((question): Told => {
      const [id, expected] = CONTRADICTIONS[question]
      const own = got[question].filter((each) => !theirs?.[question].includes(each))
      return {
        [id]: [own.length === 0, `the ${question} of ${quoted}`, expected, listed(own.slice(0, 3), 'so')],
      }
    })
  }),
})

const call = step<{ stream: boolean }>('call')

/** Member that no gateway can know, in one place of an answer. */
const unknown = (place: string) => ({ x_waybill_probe: { place, deep: [1, null, 'two'] } })

const TEXT = 'It begins at the ford.'
const SOURCE = { url: 'https://roads.example/ford', title: 'The ford' }
const SPAN = { start_index: 0, end_index: 21 }

interface Answers {
  readonly whole: object
  readonly events: readonly AnyJson[]
}

/** Provider's answer in each dialect, with a cited source. */
const ANSWERS: Readonly<Partial<Record<DialectName, Answers>>> = {
  chat: ofChat(),
  messages: ofMessages(),
  responses: ofResponses(),
  gemini: ofGemini(),
  interactions: ofInteractions(),
}

function ofChat(): Answers {
  const annotations = [{ type: 'url_citation', url_citation: { ...SOURCE, ...SPAN } }]
  const head = { id: 'chatcmpl-synthetic', created: 1, model: 'synthetic' }
  const chunk = (delta: object, finish_reason: string | null, place: string) => ({
    ...{ ...head, object: 'chat.completion.chunk', ...unknown(place) },
    choices: [{ index: 0, delta, finish_reason, ...unknown(`${place}, choice`) }],
  })
  const said = { role: 'assistant', content: TEXT, ...unknown('message'), annotations }
  return {
    whole: {
      ...{ ...head, object: 'chat.completion', ...unknown('answer') },
      choices: [{ index: 0, message: said, finish_reason: 'stop', ...unknown('choice') }],
      usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10, ...unknown('usage') },
    },
    events: [
      chunk({ role: 'assistant', content: TEXT, ...unknown('delta') }, null, 'first chunk'),
      chunk({ annotations }, null, 'chunk with the source'),
      chunk({}, 'stop', 'last chunk'),
    ],
  }
}

function ofMessages(): Answers {
  const citation = {
    ...{ type: 'web_search_result_location', ...SOURCE, cited_text: TEXT, encrypted_index: 'c2VhbGVk/+==' },
  }
  const usage = { input_tokens: 5, output_tokens: 5, ...unknown('usage') }
  const text = { type: 'text', text: TEXT, ...unknown('block'), citations: [citation] }
  const delta = (each: object) => ({ type: 'content_block_delta', index: 0, delta: each })
  return {
    whole: message({ content: [text], usage, ...unknown('answer') }),
    events: [
      { type: 'message_start', message: message({ content: [], stop_reason: null, ...unknown('message') }) },
      {
        ...{ type: 'content_block_start', index: 0 },
        content_block: { type: 'text', text: '', citations: [], ...unknown('block') },
      },
      delta({ type: 'text_delta', text: TEXT, ...unknown('delta') }),
      delta({ type: 'citations_delta', citation }),
      { type: 'content_block_stop', index: 0 },
      {
        ...{ type: 'message_delta', usage },
        delta: { stop_reason: 'end_turn', stop_sequence: null, ...unknown('end') },
      },
      { type: 'message_stop' },
    ],
  }
}

function ofResponses(): Answers {
  const annotation = { type: 'url_citation', ...SOURCE, ...SPAN }
  const at = { output_index: 0, item_id: 'msg_1' }
  const part = {
    ...{ type: 'output_text', text: TEXT, logprobs: [], annotations: [annotation] },
    ...unknown('part'),
  }
  const item = {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [part] },
    ...unknown('item'),
  }
  const whole = { ...response(), output: [item], ...unknown('answer') }
  const begun = { ...whole, status: 'in_progress', output: [], usage: null }
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    { type: 'response.output_item.added', ...at, item: { ...item, status: 'in_progress', content: [] } },
    {
      ...{ type: 'response.content_part.added', ...at, content_index: 0 },
      part: { ...part, text: '', annotations: [] },
    },
    {
      ...{ type: 'response.output_text.delta', ...at, content_index: 0, delta: TEXT, logprobs: [] },
      ...unknown('delta'),
    },
    {
      ...{ type: 'response.output_text.annotation.added', ...at, content_index: 0, annotation_index: 0 },
      annotation,
    },
    { type: 'response.output_text.done', ...at, content_index: 0, text: TEXT, logprobs: [] },
    { type: 'response.content_part.done', ...at, content_index: 0, part },
    { type: 'response.output_item.done', ...at, item },
    { type: 'response.completed', response: whole },
  ]
  return { whole, events: events.map((each, sequence_number) => ({ ...each, sequence_number })) }
}

function ofGemini(): Answers {
  const citationMetadata = {
    citationSources: [{ startIndex: 0, endIndex: 21, uri: SOURCE.url, title: SOURCE.title }],
  }
  const answer = (place: string, end: object) => ({
    candidates: [
      {
        ...{ index: 0, content: { role: 'model', parts: [{ text: TEXT, ...unknown(`${place}, part`) }] } },
        ...unknown(`${place}, candidate`),
        ...end,
      },
    ],
    ...{ modelVersion: 'synthetic', responseId: 'synthetic', ...unknown(place) },
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 5, totalTokenCount: 10, ...unknown('usage') },
  })
  const end = { finishReason: 'STOP', citationMetadata }
  return { whole: answer('answer', end), events: [answer('first event', {}), answer('last event', end)] }
}

function ofInteractions(): Answers {
  const annotations = [{ type: 'url_citation', ...SOURCE, ...SPAN }]
  const step = { type: 'model_output', ...unknown('step') }
  const content = [{ type: 'text', text: TEXT, annotations, ...unknown('content') }]
  const state = (status: string, more: object) => ({
    ...{ id: 'v1_synthetic', object: 'interaction', model: 'synthetic', status },
    ...unknown(status),
    ...more,
  })
  const usage = { total_input_tokens: 5, total_output_tokens: 5, total_tokens: 10, ...unknown('usage') }
  const delta = (each: object) => ({ event_type: 'step.delta', index: 0, delta: each })
  return {
    whole: state('completed', { steps: [{ ...step, content }], usage }),
    events: [
      { event_type: 'interaction.created', interaction: state('in_progress', {}) },
      { event_type: 'step.start', index: 0, step },
      delta({ type: 'text', text: TEXT, ...unknown('delta') }),
      delta({ type: 'text_annotation_delta', annotations }),
      { event_type: 'step.stop', index: 0 },
      { event_type: 'interaction.completed', interaction: state('completed', { usage }) },
    ],
  }
}

const scriptOf = ({ whole, events }: Answers, stream: boolean, dialect: DialectName): ScriptedAnswer[] => {
  if (!stream) return [{ body: whole }]
  const steps = events.map((data) => ({
    raw: `${(data.type ?? data.event_type) ? `event: ${data.type ?? data.event_type}\n` : ''}data: ${JSON.stringify(data)}\n\n`,
  }))
  return [{ events: dialect === 'chat' ? [...steps, { data: '[DONE]' }] : steps }]
}

/** Returns the members with one of these names, and their paths. */
type Found = readonly (readonly [path: string, value: unknown])[]

function membersIn(value: unknown, names: RegExp, path = ''): Found {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]): Found => {
    const isEmpty = Array.isArray(each) && each.length === 0
    if (names.test(name)) return isEmpty ? [] : [[`${path}/${name}`, each]]
    return membersIn(each, names, Array.isArray(value) ? path : `${path}/${name}`)
  })
}

/** Returns the members with these names from a whole answer or from a stream's events. */
function membersOf(body: string, names: RegExp): Found {
  const whole = jsonOf(body)
  const parts = whole === undefined ? readEvents(body).map(({ data }) => jsonOf(data)) : [whole]
  return parts.flatMap((part) => {
    const type = (part as AnyJson | null | undefined)?.type
    return membersIn(part, names, typeof type === 'string' ? type : '')
  })
}

const QUESTIONS = [
  ['unknown-members-arrive', /^x_waybill_probe$/, 'unknown members'],
  ['sources-arrive', /^(annotations?|citations?|citationMetadata)$/, 'sources'],
] as const

check('DIAL-14', {
  relays: true,
  async exercise(session) {
    const answers = ANSWERS[session.dialect.name]
    if (!answers) return
    for (const stream of [false, true])
      await session.chat(call.with({ stream }), {
        stream,
        script: scriptOf(answers, stream, session.dialect.name),
      })
  },
  judge: each(call, ({ exchange, entry, crossed, quoted }) => {
    if (crossed) return []
    return QUESTIONS.map(([id, names, what]): Told => {
      const sent = membersOf(entry?.answer.body ?? '', names)
      if (sent.length === 0) return { [id]: { doubt: `${quoted} reached no provider` } }
      const got = membersOf(exchange.body, names)
      const lost = sent.filter((one) => !got.some((other) => isDeepStrictEqual(one, other)))
      return {
        [id]: [
          lost.length === 0,
          `of ${sent.length} ${what} of ${quoted}, those that were changed or lost`,
          'none',
          listed(lost.slice(0, 4).map(([path, value]) => `${path} ${JSON.stringify(value).slice(0, 60)}`)),
        ],
      }
    })
  }),
})

const cut = step<{ model: string; scenario: string }>('the provider cuts the stream')

check('DIAL-05', {
  needs: ['messages'],
  dialect: 'messages',
  hostile: true,
  timeout: 120_000,
  exercise: callEach(
    cut,
    { model: everyModel, scenario: ['cut-after-3', 'cut-in-utf8'] },
    ({ model, scenario }) => ({ model, stream: true, script: [{ scenario }], timeout: 30_000 }),
    thenCoolDown(),
  ),
  judge: each(cut, (looked) => endsInError('never-ends-cleanly', looked)),
})
