// Redacts the text of a JSON value in place: every structure byte stays in place. An allow-list names the
// preserved values; any other text, number or field name is blanked. Knows JSON; independent of dialects.
import { blank, blankInString, blankJsonText, variantOf } from './blank-text.ts'
import { deploymentName, modelName } from './paths.ts'
import { isProviderName, isStructural } from './vocabulary.ts'

/** State shared by all parts of one exchange. */
export interface Redaction {
  readonly placeholder: (id: string) => string
  /** Called with each text that was blanked, in its original form. */
  readonly onBlanked: (text: string) => void
  /** Called with each model name that was preserved. */
  readonly onModel: (name: string) => void
  /** True for a list of models, in which every id and name belongs to a model. */
  readonly listsModels: boolean
  /** True if customers choose the models' names, so that a name may reveal the customer. */
  readonly namesItsModels: boolean
  /** Returns the replacement for the next piece of a stream's arguments; null if unknown. */
  readonly nextPiece?: (piece: string) => string | null
  /** Removes private names from the model's words; absent if no text is preserved. */
  readonly keep?: ((text: string) => string) | undefined
}

/** Fields with enumerated values, preserved if they consist of known words. */
const WORDS =
  /^(?:@?type|object|event|role|status|code|mode|effort|phase|reason|outcome|format|modality|severity|unit|currency|purpose|endpoint|completion_window|quantization|state|.*_(?:status|state)|truncation|verbosity|media_type|error_?type|source_?type|response_type|service_?tier|traffic_?type|stop_?reason|(?:native_)?finish_?reason|tool_choice|(?:input|output)_modalities|supported_parameters|supportedGenerationMethods|reasoning_?effort)$/i
/** Fields with the name of the company that served an answer. */
const PROVIDER = /^(?:provider|provider_name|.*Provider)$/
const MODEL = /^(?:model(?:Version|_id)?|(?:.*M|m)odelId)$/
const ID = /^(?:id|.+_id|.*[a-z]Id|system_fingerprint)$/
const TIME = /^(?:date|.*_at|.*Time)$/
/** Fields that contain only counts, prices or times as numbers. */
const COUNTS = /^(?:request_counts|usage|usage_?metadata|billed_units|timings|metrics|cost_details)$/i
const COUNT =
  /^(?:.*index|created|.*_at|n|code|status|status_?code|sequence_number|num_.*|.*_count|.*[a-z]Count|.*_requests|(?!max|token$).*tokens?|.*token_?count|.*_tokens_details)$/i
/** Known fields that contain only the user's content, including names, numbers and booleans. */
const FREE = /^(?:input|args|arguments|parameters|metadata|properties|variables|schema|.*_schema|logit_bias)$/
/** Fields of an answer with the model's words or the names of called tools. */
const SAID =
  /^(?:content|text|delta|refusal|transcript|thinking|reasoning|reasoning_content|summary|arguments|partial_json|name|namespace|message|title|url|revised_prompt|b64_json|embedding|token)$/
/** Fields that contain only the model's content: arguments, and the numbers of a vector. */
const SAID_BELOW = /^(?:input|args|arguments|embedding|logprobs)$/
/** Fields in which an answer repeats its request. `text` does so only if it is an object. */
const ECHO =
  /^(?:instructions|metadata|tools|tool_choice|user|prompt|safety_identifier|prompt_cache_key|response_format|text|previous_response_id|conversation)$/
/** Returns true if the text of a field is JSON, or a piece of it. */
export const isPiece = (field: string, eventType: string): boolean =>
  /^(?:arguments|partial_json)$/.test(field) || (field === 'delta' && /arguments/.test(eventType))

/** Returns the event type stated in a JSON value. */
export const eventTypeOf = (json: string): string => /"type"\s*:\s*"([\w.]+)"/.exec(json)?.[1] ?? ''

interface Frame {
  readonly array: boolean
  /** True if everything below the current value is blanked, including field names. */
  readonly free: boolean
  readonly counts: boolean
  /** True if everything below comes from the model and is preserved; false below a repeated request. */
  readonly said: boolean | null
  /** Field of the next value; an array's items have the array's field. */
  field: string
  awaitsName: boolean
  /** Names of this object, original -> blanked, and a count of each blanked form. */
  readonly names: Map<string, string>
  readonly forms: Map<string, number>
}

const frameOf = (frame: Pick<Frame, 'array' | 'free' | 'counts' | 'said' | 'field'>): Frame => ({
  ...frame,
  awaitsName: !frame.array,
  names: new Map(),
  forms: new Map(),
})

/** Redacts a text that is valid JSON. Length in bytes and all positions stay the same. */
export function redactJson(json: string, redaction: Redaction): string {
  return redactBelow(json, redaction, false)
}

/** Blanks the user's JSON, such as the arguments of a tool. */
export const blankJson = (json: string): string =>
  redactBelow(json, { ...SILENT, placeholder: (id) => id }, true)

const SILENT = { onBlanked: () => {}, onModel: () => {}, listsModels: false, namesItsModels: false }

function redactBelow(json: string, redaction: Redaction, free: boolean): string {
  const eventType = eventTypeOf(json)
  const stack = [frameOf({ array: true, free, counts: false, said: null, field: '' })]
  return json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]|[^\s"{}[\],:]+/g, (token) => {
    const frame = stack.at(-1)!
    if (token === '{' || token === '[') stack.push(below(frame, token === '[', redaction))
    else if (token === '}' || token === ']') stack.pop()
    else if (token === ',') frame.awaitsName = !frame.array
    else if (frame.awaitsName) {
      frame.awaitsName = false
      frame.field = JSON.parse(token)
      return isFree(frame) ? quoted(token, (name) => blankName(name, frame), redaction) : token
    } else return token.startsWith('"') ? text(token, frame, eventType, redaction) : scalar(token, frame)
    return token
  })
}

/**
 * Returns true if the current field's name and value must be blanked: if the field is unknown, or is below a
 * user's field.
 */
const isFree = ({ free, said, field }: Frame): boolean =>
  !said && (free || (field !== '' && !isStructural(field)))

function below(frame: Frame, array: boolean, { keep }: Redaction): Frame {
  const { counts, field } = frame
  const said = keep && !isFree(frame) ? saidBelow(frame, array) : frame.said
  const free = !said && (isFree(frame) || (!counts && FREE.test(field)))
  return frameOf({
    array,
    free,
    counts: !free && (counts || COUNTS.test(field)),
    said,
    field: array ? field : '',
  })
}

function saidBelow({ said, field }: Frame, array: boolean): boolean | null {
  if (said !== null) return said
  if (SAID_BELOW.test(field)) return true
  return ECHO.test(field) && !(array && field === 'text') ? false : null
}

/** Blanks a name; two names of one object stay distinct. */
function blankName(name: string, { names, forms }: Frame): string {
  const known = names.get(name)
  if (known !== undefined) return known
  const form = blank(name)
  const nth = forms.get(form) ?? 0
  forms.set(form, nth + 1)
  const blanked = variantOf(form, nth)
  names.set(name, blanked)
  return blanked
}

/** Redacts a string value, including its quotes. */
function text(token: string, frame: Frame, eventType: string, redaction: Redaction): string {
  const { field } = frame
  const value: string = JSON.parse(token)
  const { keep } = redaction
  if (keep && frame.said) return quoted(token, keep, SILENT)
  const isModel = MODEL.test(field) || (redaction.listsModels && /^(?:id|name)$/.test(field))
  if (!isFree(frame)) {
    if (WORDS.test(field) && (isStructural(value) || /^\d{1,6}$/.test(value))) return token
    if (PROVIDER.test(field) && isProviderName(value)) {
      redaction.onModel(value) // public, like a model's name, so it may also occur in a prompt
      return token
    }
    if (TIME.test(field) && /^\d{4}-\d\d-\d\d(?:T[\d:.]{5,18}(?:Z|[+-]\d\d:\d\d)?)?$/.test(value))
      return token
    // Ids and model names are plain ASCII; a text that needs escapes is neither.
    if (JSON.stringify(value) === token && /^[\x21-\x7e]*$/.test(value)) {
      if (isModel) return JSON.stringify(model(value, redaction))
      if (ID.test(field)) return JSON.stringify(redaction.placeholder(value))
    }
  }
  if (keep && frame.said !== false && !isFree(frame) && SAID.test(field)) return quoted(token, keep, SILENT)
  const piece = isPiece(field, eventType)
  const next = piece ? (redaction.nextPiece?.(value) ?? null) : null
  const change = next !== null ? () => next : isJson(value) ? blankJson : piece ? blankJsonText : blank
  return quoted(token, change, redaction)
}

function quoted(
  token: string,
  change: (text: string) => string,
  redaction: Pick<Redaction, 'onBlanked'>,
): string {
  redaction.onBlanked(JSON.parse(token))
  return `"${blankInString(token.slice(1, -1), change)}"`
}

/** Redacts a number or one of the three literals without changing its length. */
function scalar(token: string, frame: Frame): string {
  if (frame.said) return token
  if (!/\d/.test(token)) return isFree(frame) ? blankJsonText(token) : token
  const counts = !isFree(frame) && (frame.counts || COUNT.test(frame.field))
  return counts ? token : token.replace(/\d/g, '1')
}

/** Keeps the public part of a model's name; replaces the rest with a placeholder of equal length. */
function model(name: string, { namesItsModels, onModel, onBlanked, placeholder }: Redaction): string {
  const kept = (namesItsModels ? deploymentName : modelName)(name, onBlanked, placeholder)
  onModel(kept)
  return kept
}

function isJson(text: string): boolean {
  if (!/^\s*[{[]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
