// Reads the first JSON object from stdin and nothing after it, because the client does not always close stdin (LINE-01).
// Parses it loosely: every field may be absent, null or of another type (LINE-02).
import type { Readable } from 'node:stream'

interface ClientInput {
  /** The object as received; '' without one. */
  readonly text: string
  /** The parsed object; undefined if the text was not JSON. */
  readonly json: unknown
}

const LIMIT_MS = 250
const LIMIT_BYTES = 1024 * 1024
const NOTHING: ClientInput = { text: '', json: undefined }

/**
 * Resolves with the first complete object. Resolves without one at the end of stdin, at 1 MiB or after 250
 * ms. Never rejects.
 */
export function firstObject(stdin: Readable): Promise<ClientInput> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const scan = createScanner()
    const settle = (input: ClientInput) => {
      clearTimeout(timer)
      stdin.removeAllListeners().on('error', () => {})
      stdin.pause()
      resolve(input)
    }
    const timer = setTimeout(() => settle(NOTHING), LIMIT_MS)
    stdin.on('end', () => settle(NOTHING))
    stdin.on('error', () => settle(NOTHING))
    stdin.on('data', (chunk: Buffer) => {
      const end = scan(chunk)
      chunks.push(end < 0 ? chunk : chunk.subarray(0, end))
      bytes += chunk.length
      if (end >= 0) settle(parse(Buffer.concat(chunks).toString('utf8')))
      else if (bytes > LIMIT_BYTES) settle(NOTHING)
    })
  })
}

/**
 * Returns a function that receives chunks and returns the index at which the object ends, or -1. The function
 * works on bytes, because all structural characters of JSON are ASCII, and longer characters contain no ASCII
 * bytes.
 */
function createScanner(): (chunk: Buffer) => number {
  let depth = 0
  let quoted = false
  let escaped = false
  return (chunk) => {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]
      if (escaped) escaped = false
      else if (quoted) {
        if (byte === 0x5c) escaped = true
        else if (byte === 0x22) quoted = false
      } else if (byte === 0x22) quoted = depth > 0
      else if (byte === 0x7b) depth++
      else if (byte === 0x7d && depth > 0 && --depth === 0) return at + 1
    }
    return -1
  }
}

function parse(text: string): ClientInput {
  const object = text.slice(text.indexOf('{'))
  try {
    return { text: object, json: JSON.parse(object) }
  } catch {
    return NOTHING
  }
}

type Json = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns a non-empty string, or null. */
export const textOrNull = (value: unknown): string | null =>
  typeof value === 'string' && value ? value : null

/** Returns a finite number of at least 0, or null. */
export const amount = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null

export interface Payload {
  readonly sessionId: string | null
  /** The client's model id, without a suffix such as `[1m]`; null if unknown. */
  readonly model: string | null
  /** The client's model id, including the suffix. */
  readonly modelAsGiven: string | null
  /** The client's own name of the model. */
  readonly label: string | null
  /** The client's working directory. */
  readonly directory: string | null
  /** Percentage of the context window that is used. */
  readonly contextUsed: number | null
}

/** Never throws. */
export function readPayload(json: unknown): Payload {
  const payload = isObject(json) ? json : {}
  const { model } = payload
  const id = textOrNull(isObject(model) ? model.id : model)
  const workspace = isObject(payload.workspace) ? payload.workspace : {}
  const context = isObject(payload.context_window) ? payload.context_window : {}
  return {
    sessionId: textOrNull(payload.session_id),
    model: id && withoutSuffix(id),
    modelAsGiven: id,
    label: textOrNull(isObject(model) ? model.display_name : null) ?? id,
    directory: textOrNull(workspace.current_dir) ?? textOrNull(payload.cwd),
    contextUsed: amount(context.used_percentage),
  }
}

/** Claude Code requests its models in the Messages dialect, which may have a default route. */
export const isClaude = (model: string): boolean => model.startsWith('claude')

/** Returns `auto` for `auto[1m]`, because the suffix is the client's own and not part of the id (LINE-03). */
export const withoutSuffix = (model: string): string => model.replace(/(?<=.)\[[^\][]*\]$/, '')
