// Interactions that the gateway itself stores. Its items are steps. Format: Gemini API reference, "Interactions".
import { GatewayError } from '../../core/errors.ts'
import { objectIn } from '../../json/object-in.ts'
import { elementsOf, memberText, omitMembers, spliceMembers } from '../../json/splice.ts'
import { eventReader } from '../../websocket/frames.ts'
import type { AnswerCollector, AnswerStoring, NamedItems, RunAnswers } from '../dialect.ts'
import { isObject, type Json, listOrEmpty, member, textOf } from '../json.ts'
import { stepsIn } from './read-request.ts'

/** Returns the input's steps as JSON. Steps keep their bytes. */
function inputItems(text: string): string[] {
  const input = memberText(text, 'input')
  if (input === undefined || input === 'null') return []
  const parsed: unknown = JSON.parse(input)
  const steps = stepsIn(parsed)
  const isAsSent =
    Array.isArray(parsed) &&
    steps.length === parsed.length &&
    steps.every((step, at) => step.type === member(parsed[at], 'type'))
  return isAsSent ? elementsOf(input) : steps.map((step) => JSON.stringify(step))
}

/** No interaction names a single step of another. */
const named: NamedItems = {
  in: () => [],
  answerOf: () => null,
  idOf: () => null,
  writtenOut: (text) => text,
}

const now = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`

const runs: RunAnswers = {
  idPrefix: 'interaction_here_',
  plain: (text) => omitMembers(text, [['background'], ['stream']]),
  queued(text, id, at) {
    const model = memberText(text, 'model')
    const head = { id, object: 'interaction', status: 'queued', created: now(at), updated: now(at) }
    return spliceMembers(JSON.stringify(head), model === undefined ? {} : { model })
  },
  inProgress: (answer) => spliceMembers(answer, { status: '"in_progress"' }),
  ended: (answer, error) =>
    spliceMembers(answer, {
      status: error === null ? '"cancelled"' : '"failed"',
      ...(error && { errors: JSON.stringify([error]) }),
    }),
  completed: (answer, id) => spliceMembers(answer, { id: JSON.stringify(id) }),
}

export const storing: AnswerStoring = {
  mayKeep: ({ store }) => store !== false,
  previousIn: ({ previous_interaction_id: id }) => (typeof id === 'string' && id !== '' ? id : null),
  inputItems,
  named,
  writeOut: (text, before) =>
    spliceMembers(omitMembers(text, [['previous_interaction_id']]), {
      input: `[${[...before, ...inputItems(text)].join()}]`,
    }),
  openCollector: () => new InteractionCollector(),
  runs,
  answerAbout({ method, rest, query }, kept) {
    if (rest.endsWith('/cancel'))
      throw new GatewayError(
        'invalid_request',
        `Interaction with id '${kept.id}' is complete; only one in the background that still runs can be cancelled.`,
      )
    if (method === 'DELETE') return '{}'
    return query.get('include_input') === 'true'
      ? spliceMembers(kept.answer, { input: `[${kept.input.join()}]` })
      : kept.answer
  },
}

/** Maximum bytes of a stored answer. */
const MAX_ANSWER_BYTES = 32 * 2 ** 20

/** Statuses of an interaction that another can continue. */
const KEPT = new Set<unknown>(['completed', 'requires_action', 'incomplete', 'budget_exceeded'])

type Open = Record<string, unknown>

/** The last event of a stream need not have the steps, so they are put together from their events. */
class InteractionCollector implements AnswerCollector {
  readonly #steps: Open[] = []
  /** Steps by their present index. */
  readonly #open = new Map<unknown, Open>()
  readonly #arguments = new Map<Open, string>()
  readonly #read = eventReader((json) => this.#event(json))
  readonly #decoder = new TextDecoder()
  #json: string | null = null
  #bytes = 0

  add(bytes: Buffer): void {
    this.#bytes += bytes.length
    if (this.#bytes <= MAX_ANSWER_BYTES) this.#read(this.#decoder.decode(bytes, { stream: true }))
  }

  whole(bytes: Buffer): void {
    this.#bytes = bytes.length
    if (bytes.length <= MAX_ANSWER_BYTES) this.#json = bytes.toString('utf8')
  }

  #event(text: string): void {
    const json = objectIn(text)
    if (!json) return
    const { event_type: type, index } = json
    if (type === 'step.start' && isObject(json.step)) {
      const step = { ...json.step }
      this.#steps.push(step)
      this.#open.set(index, step)
    } else if (type === 'step.delta' && isObject(json.delta)) this.#delta(index, json.delta)
    else if (isObject(json.interaction) && KEPT.has(json.interaction.status))
      this.#json = memberText(text, 'interaction') ?? null
  }

  #delta(index: unknown, delta: Json): void {
    const step = this.#open.get(index)
    if (!step) return
    const { type, ...value } = delta
    const contents = listIn(step, type === 'thought_summary' ? 'summary' : 'content')
    const last = contents.at(-1)
    const added =
      type === 'thought_summary'
        ? isObject(value.content)
          ? value.content
          : { type: 'text', text: value.text }
        : delta
    if (type === 'thought_signature') step.signature = value.signature
    else if (type === 'arguments_delta')
      this.#arguments.set(step, (this.#arguments.get(step) ?? '') + textOf(value.arguments))
    else if (type === 'text_annotation_delta') {
      if (last) last.annotations = [...listOrEmpty(last.annotations), ...listOrEmpty(value.annotations)]
    } else if (step.type !== 'model_output' && step.type !== 'thought') Object.assign(step, value)
    else if (added.type === 'text' && last?.type === 'text')
      last.text = textOf(last.text) + textOf(added.text)
    else {
      contents.push({ ...added })
      step[step.type === 'thought' ? 'summary' : 'content'] = contents
    }
  }

  get answer() {
    const json = this.#json === null || this.#bytes > MAX_ANSWER_BYTES ? null : objectIn(this.#json)
    if (!json || typeof json.id !== 'string' || !KEPT.has(json.status)) return null
    const whole = memberText(this.#json!, 'steps')
    const hasSteps = Array.isArray(json.steps) && json.steps.length > 0
    const output = hasSteps ? elementsOf(whole!).filter(isOutput) : this.#collected()
    return {
      id: json.id,
      json: hasSteps ? this.#json! : spliceMembers(this.#json!, { steps: `[${output.join()}]` }),
      output,
    }
  }

  #collected(): string[] {
    return this.#steps.map((step) => {
      const text = this.#arguments.get(step)
      const args = text === undefined ? null : objectIn(text)
      return JSON.stringify(args ? { ...step, arguments: args } : step)
    })
  }
}

const listIn = (step: Open, name: string): Open[] => listOrEmpty(step[name]) as Open[]

/** A whole interaction may repeat its input. */
const isOutput = (step: string): boolean =>
  !/^(user_input|function_result)$/.test(textOf(member(JSON.parse(step), 'type')))
