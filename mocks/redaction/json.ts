// Redacts the text of a JSON value in place: every structure byte stays in place. By default an allow-list names
// the preserved values, and any other text, number or field name is blanked. In a kept answer it is the other way
// round: everything stays, except what is private, sealed, or repeated from the request. A tool's arguments that a stream
// sends in pieces are joined, blanked, and split again in the same places. Independent of dialects.
import { deploymentName, modelName } from './paths.ts'
import { blank, blankInString, blankJsonText, isMachineMade, variantOf } from './placeholders.ts'
import { isProviderName, isSealed, isSecretName, isStructural } from './vocabulary.ts'

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
  /** Removes private names from a text of a kept answer; absent if no text is preserved. */
  readonly keep?: ((text: string) => string) | undefined
  /** Called with the kind of each value that was replaced in a kept answer: `ids`, `sealed signature`. */
  readonly onReplaced?: ((kind: string) => void) | undefined
}

/** Fields with enumerated values, preserved if they consist of known words. */
const WORDS =
  /^(?:@?type|object|event|role|status|code|mode|effort|phase|reason|outcome|format|modality|severity|unit|currency|purpose|endpoint|completion_window|quantization|state|.*_(?:status|state)|truncation|verbosity|media_type|mime_?type|error_?type|event_?type|source_?type|response_type|service_?tier|traffic_?type|stop_?reason|(?:native_)?finish_?reason|tool_choice|(?:input|output)_modalities|supported_parameters|supportedGenerationMethods|reasoning_?effort|param|quota(?:Id|Metric)|domain|service|field|level|category|detail|size|quality|background|caller|direction)$/i
/** Fields with the name of the company that served an answer. */
const PROVIDER = /^(?:provider|provider_name|.*Provider)$/
const MODEL = /^(?:model(?:Version|_id)?|(?:.*M|m)odelId)$/
const ID = /^(?:id|.+_id|.*[a-z]Id|system_fingerprint)$/
/** Fields that name a customer, preserved only if the value is a word of the interface or a provider's name. */
const ACCOUNT =
  /^(?:owned_by|(?:.*_)?(?:user|account|organi[sz]ation|org|project|workspace|tenant|customer|team|subscription|email|consumer)(?:_id|_name|_uuid|_number|Id|Name)?)$/i
const TIME = /^(?:date|.*_at|.*Time)$/
/** Fields of errors and limits with a wait, such as `36s`. */
const WAIT = /delay|retry|reset|after|latency|duration|ttl|timeout|interval/i
/** Fields that contain only counts, prices or times as numbers. */
const COUNTS = /^(?:request_counts|usage|usage_?metadata|billed_units|timings|metrics|cost_details)$/i
const COUNT =
  /^(?:.*index|created|.*_at|n|code|status|status_?code|sequence_number|num_.*|.*_count|.*[a-z]Count|.*_requests|(?!max|token$).*tokens?|.*token_?count|.*_tokens_details)$/i
/** Fields whose numbers are the answer itself: vectors, scores, probabilities, coordinates, numbers of tokens. */
const CONTENT_NUMBER =
  /^(?:embeddings?|values?|vectors?|data|bytes|token|.*logprobs?|.*scores?|confidence|probability|seed|number|[xy]|.*_[xy]|[xy]_.*)$/i
/** Known fields that contain only the user's content, including names, numbers and booleans. */
const FREE = /^(?:input|args|arguments|parameters|metadata|properties|variables|schema|.*_schema|logit_bias)$/
/** Fields that contain only the model's words: the arguments of tools. */
const CONTENT = /^(?:input|args|arguments|logprobs)$/
/** Field of MCP with the words of a tool. */
const RESULT = 'structuredContent'
/** Members of a response that repeat its request. */
const ECHO =
  /^(?:instructions|system|system_?instruction|metadata|tools|tool_choice|user|prompt|safety_identifier|prompt_cache_key|response_format|text|previous_response_id|conversation)$/i
/** Members that do so only in an object that names its kind, as OpenAI's do; `text` also has to be an object. */
const OBJECT_ECHO = /^(?:metadata|text)$/
/** Returns true if the text of a field is JSON, or a piece of it. */
const isPiece = (field: string, eventType: string): boolean =>
  /^(?:arguments|partial_json)$/.test(field) || (field === 'delta' && /arguments/.test(eventType))

/** Returns the event type stated in a JSON value. */
const eventTypeOf = (json: string): string => /"type"\s*:\s*"([\w.]+)"/.exec(json)?.[1] ?? ''

interface Frame {
  readonly array: boolean
  /** True if everything below the current value is blanked, including field names. */
  readonly free: boolean
  readonly counts: boolean
  /** True if everything below is preserved, except private values. */
  readonly kept: boolean
  /** Part that an object below the arguments or the result of a tool belongs to: ids there are its words. */
  readonly content: 'arguments' | 'result' | null
  /** True for a response, whose members may repeat its request. */
  readonly echoes: false | 'object' | 'other'
  /** Member of the response that repeats its request, if the current value is below it. */
  readonly echo: string | null
  /** Field of the next value; an array's items have the array's field. */
  field: string
  awaitsName: boolean
  /** Names of this object, original -> blanked, and a count of each blanked form. */
  readonly names: Map<string, string>
  readonly forms: Map<string, number>
}

const frameOf = (frame: Omit<Frame, 'awaitsName' | 'names' | 'forms'>): Frame => ({
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
const blankJson = (json: string): string => redactBelow(json, { ...SILENT, placeholder: (id) => id }, true)

const SILENT = { onBlanked: () => {}, onModel: () => {}, listsModels: false, namesItsModels: false }

function redactBelow(json: string, redaction: Redaction, free: boolean): string {
  const eventType = eventTypeOf(json)
  const kept = redaction.keep !== undefined
  const whole: unknown = kept ? JSON.parse(json) : null
  const sealed = sealedIn(whole)
  const root = {
    array: true,
    free,
    counts: false,
    kept,
    content: null,
    echoes: false as const,
    echo: null,
    field: '',
  }
  const stack = [frameOf(root)]
  return json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]|[^\s"{}[\],:]+/g, (token) => {
    const frame = stack.at(-1)!
    if (token === '{' || token === '[')
      stack.push(below(frame, token === '[', responseAt(whole, stack.length, frame.field)))
    else if (token === '}' || token === ']') stack.pop()
    else if (token === ',') frame.awaitsName = !frame.array
    else if (frame.awaitsName) {
      frame.awaitsName = false
      frame.field = JSON.parse(token)
      return isFree(frame) ? quoted(token, (name) => blankName(name, frame), redaction) : token
    } else if (!token.startsWith('"')) return scalar(token, frame, redaction)
    else if (frame.kept && !isEcho(frame)) return keptText(token, frame, sealed, redaction)
    else return text(token, frame, eventType, redaction)
    return token
  })
}

/**
 * Returns true if the current field's name and value must be blanked: if the field is unknown, or is below a
 * user's field.
 */
const isFree = ({ free, kept, field }: Frame): boolean =>
  !kept && (free || (field !== '' && !isStructural(field)))

/** Returns true if the current field of a kept answer repeats the request. */
const isEcho = ({ echoes, field }: Frame, isObject = false): boolean =>
  echoes !== false &&
  ECHO.test(field) &&
  (echoes === 'object' || !OBJECT_ECHO.test(field)) &&
  (field !== 'text' || isObject)

/** Returns the texts of a value that are sealed by the type of their object: Anthropic's and OpenRouter's `data`. */
function sealedIn(value: unknown, found = new Set<string>()): Set<string> {
  if (typeof value !== 'object' || value === null) return found
  const { type, data } = value as { type?: unknown; data?: unknown }
  if (/redacted|encrypted/.test(String(type)) && typeof data === 'string') found.add(data)
  for (const inner of Object.values(value)) sealedIn(inner, found)
  return found
}

/** Returns the kind of a response that begins here: the whole value, or the response in an event of a stream. */
function responseAt(whole: unknown, depth: number, field: string): Frame['echoes'] {
  const inner = depth === 2 && field === 'response'
  if (depth !== 1 && !inner) return false
  const at = (inner ? (whole as { response?: unknown })?.response : whole) as { object?: unknown } | null
  return typeof at?.object === 'string' ? 'object' : 'other'
}

function below(frame: Frame, array: boolean, response: Frame['echoes']): Frame {
  const { counts, field, content } = frame
  const echoed = frame.kept && isEcho(frame, !array)
  const kept = frame.kept && !echoed
  const free = !kept && (isFree(frame) || (!counts && FREE.test(field)))
  return frameOf({
    array,
    free,
    counts: !free && (counts || COUNTS.test(field)),
    kept,
    content: content ?? (CONTENT.test(field) ? 'arguments' : field === RESULT ? 'result' : null),
    echo: echoed ? field : frame.echo,
    echoes: kept && !array && response,
    field: array ? field : '',
  })
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

/** Redacts a string value of a kept answer: only credentials, accounts, ids and sealed texts are replaced. */
function keptText(token: string, frame: Frame, sealed: ReadonlySet<string>, redaction: Redaction): string {
  const { field, content } = frame
  const value: string = JSON.parse(token)
  const { keep, listsModels, onReplaced, placeholder } = redaction
  const replaced = (kind: string, now: string) => {
    if (now !== token) onReplaced?.(kind)
    return now
  }
  const blanked = () => `"${blankInString(token.slice(1, -1), blank)}"`
  if (content !== 'arguments' && value !== '' && isSecretName(field))
    return replaced('credentials', blanked())
  if (content === null && value !== '') {
    if (isSealed(field) || sealed.has(value)) return replaced(`sealed ${field}`, blanked())
    if (ACCOUNT.test(field) && !isStructural(value) && !isProviderName(value))
      return replaced('accounts', isAscii(value) ? JSON.stringify(placeholder(value)) : blanked())
    if (isAscii(value) && JSON.stringify(value) === token) {
      const isModel = MODEL.test(field) || (listsModels && /^(?:id|name)$/.test(field))
      if (isModel) return replaced('private names of models', JSON.stringify(model(value, redaction)))
      if (ID.test(field) && field !== 'system_fingerprint' && isMachineMade(value))
        return replaced('ids', JSON.stringify(placeholder(value)))
    }
  }
  return quoted(token, keep!, SILENT)
}

/** Ids and model names are plain ASCII. */
const isAscii = (text: string): boolean => /^[\x21-\x7e]*$/.test(text)

/** Redacts a string value, including its quotes. */
function text(token: string, frame: Frame, eventType: string, redaction: Redaction): string {
  const { field } = frame
  const value: string = JSON.parse(token)
  if (!isFree(frame)) {
    if (WORDS.test(field) && (isStructural(value.replace(/\[\d*\]/g, '')) || /^\d{1,6}$/.test(value)))
      return token
    if (WAIT.test(field) && /^\d{1,8}(?:\.\d{1,9})?(?:ns|us|ms|s|m|h)?$/.test(value)) return token
    if (PROVIDER.test(field) && isProviderName(value)) {
      redaction.onModel(value) // public, like a model's name, so it may also occur in a prompt
      return token
    }
    if (TIME.test(field) && /^\d{4}-\d\d-\d\d(?:T[\d:.]{5,18}(?:Z|[+-]\d\d:\d\d)?)?$/.test(value))
      return token
    // A text that needs escapes is neither an id nor a model's name.
    if (JSON.stringify(value) === token && isAscii(value)) {
      if (MODEL.test(field) || (redaction.listsModels && /^(?:id|name)$/.test(field)))
        return JSON.stringify(model(value, redaction))
      if (ID.test(field)) return JSON.stringify(redaction.placeholder(value))
    }
  }
  const piece = isPiece(field, eventType)
  const next = piece ? (redaction.nextPiece?.(value) ?? null) : null
  const change = next !== null ? () => next : isJson(value) ? blankJson : piece ? blankJsonText : blank
  const now = quoted(token, change, redaction)
  const echo = frame.echo ?? (frame.echoes ? field : null)
  if (now !== token && echo !== null) redaction.onReplaced?.(`echoed ${echo}`)
  return now
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
function scalar(token: string, frame: Frame, { onReplaced }: Redaction): string {
  if (frame.kept) return token
  if (!/\d/.test(token)) return isFree(frame) ? blankJsonText(token) : token
  const { array, counts, field } = frame
  const isCount = counts || (COUNT.test(field) && !array)
  const isContent = array || CONTENT_NUMBER.test(field) || token.replace(/\D/g, '').length > 8
  const now = !isFree(frame) && (isCount || !isContent) ? token : token.replace(/\d/g, '1')
  if (now !== token && frame.echo !== null) onReplaced?.(`echoed ${frame.echo}`)
  return now
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

/**
 * Returns a function that returns the replacements of a stream's pieces, in order; null if the pieces do not
 * form JSON.
 */
export function planPieces(events: readonly string[]): (piece: string) => string | null {
  const found: { readonly call: string; readonly piece: string }[] = []
  for (const json of events) {
    const eventType = eventTypeOf(json)
    if (!/"(?:arguments|partial_json|delta)"/.test(json)) continue
    collect(JSON.parse(json), '', eventType, (piece, call) =>
      found.push({ call: `${eventType} ${call}`, piece }),
    )
  }
  const joined = Map.groupBy(found, ({ call }) => call)
  const left = new Map(
    Array.from(joined, ([call, pieces]) => {
      const text = pieces.map(({ piece }) => piece).join('')
      return [call, isJson(text) ? { text: blankJson(text), at: 0 } : null]
    }),
  )
  let next = 0
  return (piece) => {
    const planned = found[next++]
    const source = planned?.piece === piece ? left.get(planned.call) : null
    if (!source) return null
    source.at += piece.length
    return source.text.slice(source.at - piece.length, source.at)
  }
}

/** Joins the pieces of texts in a stream, separately for each place. */
export function joinedPieces(body: string): string {
  const joined = new Map<string, string>()
  const add = (value: unknown, place: string): void => {
    if (typeof value === 'string') joined.set(place, (joined.get(place) ?? '') + value)
    else if (typeof value === 'object' && value !== null) {
      const { index, output_index } = value as { index?: unknown; output_index?: unknown }
      for (const [name, inner] of Object.entries(value))
        add(inner, `${place} ${index ?? ''} ${output_index ?? ''} ${name}`)
    }
  }
  for (const [, data] of body.matchAll(/^data: ?(.*)$/gm)) if (isJsonObject(data!)) add(JSON.parse(data!), '')
  return [...joined.values()].join('\n')
}

/** Collects the pieces in a value, with the indexes of their choice, call and block. */
function collect(
  value: unknown,
  field: string,
  eventType: string,
  take: (piece: string, call: string) => void,
  call = '',
): void {
  if (typeof value === 'string' && isPiece(field, eventType)) take(value, call)
  else if (Array.isArray(value)) for (const one of value) collect(one, field, eventType, take, call)
  else if (typeof value === 'object' && value !== null) {
    const { index, output_index } = value as { index?: unknown; output_index?: unknown }
    const here = `${call} ${field} ${index ?? ''} ${output_index ?? ''}`
    for (const [name, inner] of Object.entries(value)) collect(inner, name, eventType, take, here)
  }
}

function isJsonObject(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}
