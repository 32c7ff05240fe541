// Reads limits, thinking and announced ends from providers' model lists: Anthropic's, Gemini's, and lists in OpenAI's format
// with an added context window. Reads known field names. A list without such fields still names its models.
// Pure.
import { EFFORTS, type Facts } from './facts.ts'

export interface ListedModel {
  readonly model: string
  readonly facts: Facts
}

type Json = Readonly<Record<string, unknown>>
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const list = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : [])
const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

/** Returns the models of a list, each id once. Throws if the text is not a list. */
export function listedModels(text: string): ListedModel[] {
  const json: unknown = JSON.parse(text)
  const entries = Array.isArray(json)
    ? list(json)
    : [...list(member(json, 'data')), ...list(member(json, 'models'))]
  if (entries.length === 0) throw new Error('names no model')
  const found = new Map<string, ListedModel>()
  for (const entry of entries) {
    const id = entry.id ?? entry.name
    if (typeof id !== 'string' || !/^[\w./:@+-]{1,200}$/.test(id)) continue
    const model = id.replace(/^models\//, '')
    if (!found.has(model)) found.set(model, { model, facts: factsIn(entry) })
  }
  return [...found.values()]
}

/** Providers' field names for the two limits. */
const CONTEXT = [
  'loaded_context_length', // LM Studio: the window in force, which is shorter than the model's own
  'max_model_len',
  'max_input_tokens',
  'inputTokenLimit',
  'context_length',
  'max_context_length',
  'context_window',
]
const OUTPUT = ['max_tokens', 'outputTokenLimit', 'max_completion_tokens']

function factsIn(entry: Json): Facts {
  const context = countIn(entry, CONTEXT) ?? countIn(entry.meta, ['n_ctx', 'n_ctx_train']) // the last two: llama.cpp
  const output = countIn(entry, OUTPUT) ?? countIn(entry.top_provider, OUTPUT)
  const thinking = thinkingIn(member(entry.capabilities, 'thinking'))
  const efforts = effortsIn(member(entry.capabilities, 'effort'))
  const retires = dayIn(entry, ENDS)
  return {
    ...(context !== null && { context }),
    ...(output !== null && { output }),
    ...(thinking && { thinking }),
    ...(efforts && { efforts }),
    ...(retires && { retires }),
  }
}

function countIn(entry: unknown, names: readonly string[]): number | null {
  const value = names.map((name) => member(entry, name)).find((each) => Number.isSafeInteger(each))
  return typeof value === 'number' && value > 0 ? value : null
}

/** Field names for the end of a model: Anthropic's, OpenAI's and OpenRouter's. */
const ENDS = ['retires_at', 'shutdown_date', 'expiration_date']

/** Returns the day of a date, with or without a time. */
function dayIn(entry: Json, names: readonly string[]): string | null {
  const value = names.map((name) => entry[name]).find((each) => typeof each === 'string')
  const time = typeof value === 'string' && /^\d{4}-\d\d-\d\d/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? null : new Date(time).toISOString().slice(0, 10)
}

/** Anthropic's types of thinking with our words for them. */
const TYPES = {
  enabled: 'budget',
  adaptive: 'adaptive',
  disabled: 'off',
  between_tools: 'between_tools',
} as const

function thinkingIn(thinking: unknown): Facts['thinking'] {
  const types = member(thinking, 'types')
  if (!isObject(types)) return undefined
  return Object.entries(TYPES).flatMap(([name, word]) => (isSupported(types[name]) ? [word] : []))
}

function effortsIn(effort: unknown): Facts['efforts'] {
  if (!isObject(effort)) return undefined
  return effort.supported === false ? [] : EFFORTS.filter((level) => isSupported(effort[level]))
}

/** Returns true for a supported capability. A capability is a boolean or an object with a boolean. */
const isSupported = (value: unknown): boolean => value === true || member(value, 'supported') === true
