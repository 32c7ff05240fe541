// Redacts the text of a JSON value in place: every byte of structure stays where it is. An allow-list: what is kept
// is named here; any other text, number or field name is blanked. Knows JSON, and no dialect in particular.
import { blank, blankInString, blankJsonText, variantOf } from './blank.ts'
import { deploymentName, modelName } from './paths.ts'
import { isProviderName, isStructural } from './vocabulary.ts'

/** What redaction shares over the whole of one exchange. */
export interface Redaction {
  readonly placeholder: (id: string) => string
  /** Takes each text that was blanked, as it was. */
  readonly onBlanked: (text: string) => void
  /** Takes each model name that was kept. */
  readonly onModel: (name: string) => void
  /** A list of models, where ids and names are those of models. */
  readonly listsModels: boolean
  /** Models are called as a customer likes, so that a name may tell who it is. */
  readonly namesItsModels: boolean
  /** What the next piece of a stream's arguments becomes; null where that is not known. */
  readonly nextPiece?: (piece: string) => string | null
}

/** Fields whose text is one of a few words; it is kept when it is made of known words. */
const WORDS =
  /^(?:@?type|object|event|role|status|code|mode|effort|phase|reason|outcome|format|modality|severity|unit|currency|purpose|endpoint|completion_window|quantization|state|.*_(?:status|state)|truncation|verbosity|media_type|error_?type|source_?type|response_type|service_?tier|traffic_?type|stop_?reason|(?:native_)?finish_?reason|tool_choice|(?:input|output)_modalities|supported_parameters|supportedGenerationMethods|reasoning_?effort)$/i
/** Fields that name the company that served an answer. */
const PROVIDER = /^(?:provider|provider_name|.*Provider)$/
const MODEL = /^(?:model(?:Version|_id)?|(?:.*M|m)odelId)$/
const ID = /^(?:id|.+_id|.*[a-z]Id|system_fingerprint)$/
const TIME = /^(?:date|.*_at|.*Time)$/
/** Below these every number is a count, a price or a time. */
const COUNTS = /^(?:request_counts|usage|usage_?metadata|billed_units|timings|metrics|cost_details)$/i
const COUNT =
  /^(?:.*index|created|.*_at|n|code|status|status_?code|sequence_number|num_.*|.*_count|.*[a-z]Count|.*_requests|(?!max|token$).*tokens?|.*token_?count|.*_tokens_details)$/i
/** Known names below which everything belongs to whoever asked: names, numbers and truth values too. */
const FREE = /^(?:input|args|arguments|parameters|metadata|properties|variables|schema|.*_schema|logit_bias)$/
/** Whether the text of a field is JSON, or a piece of it. */
export const isPiece = (field: string, eventType: string): boolean =>
  /^(?:arguments|partial_json)$/.test(field) || (field === 'delta' && /arguments/.test(eventType))

/** What kind of event a JSON value is, by its own word. */
export const eventTypeOf = (json: string): string => /"type"\s*:\s*"([\w.]+)"/.exec(json)?.[1] ?? ''

interface Frame {
  readonly array: boolean
  /** Everything below is blanked, field names too. */
  readonly free: boolean
  readonly counts: boolean
  /** The field whose value comes next; an array passes on the field that it is the value of. */
  field: string
  awaitsName: boolean
  /** The names of this object that were blanked, as they were and as they are; and how many of each form there are. */
  readonly names: Map<string, string>
  readonly forms: Map<string, number>
}

const frameOf = (frame: Pick<Frame, 'array' | 'free' | 'counts' | 'field'>): Frame => ({
  ...frame,
  awaitsName: !frame.array,
  names: new Map(),
  forms: new Map(),
})

/** Redacts a text that is valid JSON. Its length in bytes stays, and so does the place of everything in it. */
export function redactJson(json: string, redaction: Redaction): string {
  return redactBelow(json, redaction, false)
}

/** The same for JSON that belongs to whoever asked, such as the arguments of a tool. */
export const blankJson = (json: string): string =>
  redactBelow(json, { ...SILENT, placeholder: (id) => id }, true)

const SILENT = { onBlanked: () => {}, onModel: () => {}, listsModels: false, namesItsModels: false }

function redactBelow(json: string, redaction: Redaction, free: boolean): string {
  const eventType = eventTypeOf(json)
  const stack = [frameOf({ array: true, free, counts: false, field: '' })]
  return json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]|[^\s"{}[\],:]+/g, (token) => {
    const frame = stack.at(-1)!
    if (token === '{' || token === '[') stack.push(below(frame, token === '['))
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

/** Whether name and value of the field at hand are blanked whatever they are: below a free one, or unknown. */
const isFree = ({ free, field }: Frame): boolean => free || (field !== '' && !isStructural(field))

function below(frame: Frame, array: boolean): Frame {
  const { counts, field } = frame
  const free = isFree(frame) || (!counts && FREE.test(field))
  return frameOf({
    array,
    free,
    counts: !free && (counts || COUNTS.test(field)),
    field: array ? field : '',
  })
}

/** A blanked name; two names of one object stay two. */
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

/** A string value, with its quotes. */
function text(token: string, frame: Frame, eventType: string, redaction: Redaction): string {
  const { field } = frame
  const value: string = JSON.parse(token)
  const isModel = MODEL.test(field) || (redaction.listsModels && /^(?:id|name)$/.test(field))
  if (!isFree(frame)) {
    if (WORDS.test(field) && (isStructural(value) || /^\d{1,6}$/.test(value))) return token
    if (PROVIDER.test(field) && isProviderName(value)) {
      redaction.onModel(value) // a public name like that of a model: it may occur in a prompt, too
      return token
    }
    if (TIME.test(field) && /^\d{4}-\d\d-\d\d(?:T[\d:.]{5,18}(?:Z|[+-]\d\d:\d\d)?)?$/.test(value))
      return token
    // Ids and model names are plain; one that has to be escaped is neither.
    if (JSON.stringify(value) === token && /^[\x21-\x7e]*$/.test(value)) {
      if (isModel) return JSON.stringify(model(value, redaction))
      if (ID.test(field)) return JSON.stringify(redaction.placeholder(value))
    }
  }
  const piece = isPiece(field, eventType)
  const next = piece ? (redaction.nextPiece?.(value) ?? null) : null
  const change = next !== null ? () => next : isJson(value) ? blankJson : piece ? blankJsonText : blank
  return quoted(token, change, redaction)
}

function quoted(token: string, change: (text: string) => string, redaction: Redaction): string {
  redaction.onBlanked(JSON.parse(token))
  return `"${blankInString(token.slice(1, -1), change)}"`
}

/** A number, or one of the three literals; each stays as long as it is. */
function scalar(token: string, frame: Frame): string {
  if (!/\d/.test(token)) return isFree(frame) ? blankJsonText(token) : token
  const counts = !isFree(frame) && (frame.counts || COUNT.test(frame.field))
  return counts ? token : token.replace(/\d/g, '1')
}

/** A model's name as far as it is public; what is not becomes a placeholder of its length. */
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
