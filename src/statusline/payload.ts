// The client's input on stdin, parsed loosely: every field may be absent, null or of another type (LINE-02).
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
