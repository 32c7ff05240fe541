// What the client hands over on stdin, read loosely: every field may be absent, null or of another type (LINE-02).
import { amount, isObject, text } from './facts.ts'

export interface Payload {
  readonly sessionId: string | null
  /** The model's id as the client knows it, without the `[1m]` that some put behind it; null when unknown. */
  readonly model: string | null
  /** The same with it. */
  readonly modelAsGiven: string | null
  /** What the client itself would call the model. */
  readonly label: string | null
  /** Where the client works. */
  readonly directory: string | null
  /** Share of the context window in use, per cent. */
  readonly contextUsed: number | null
}

/** Never throws. */
export function readPayload(json: unknown): Payload {
  const payload = isObject(json) ? json : {}
  const { model } = payload
  const id = text(isObject(model) ? model.id : model)
  const workspace = isObject(payload.workspace) ? payload.workspace : {}
  const context = isObject(payload.context_window) ? payload.context_window : {}
  return {
    sessionId: text(payload.session_id),
    model: id && withoutSuffix(id),
    modelAsGiven: id,
    label: text(isObject(model) ? model.display_name : null) ?? id,
    directory: text(workspace.current_dir) ?? text(payload.cwd),
    contextUsed: amount(context.used_percentage),
  }
}

/** Claude Code requests its own models in the messages dialect, for which the gateway may have a default route. */
export const isClaude = (model: string): boolean => model.startsWith('claude')

/** `auto[1m]` -> `auto`: the mark is the client's own and not part of the id (LINE-03). */
export const withoutSuffix = (model: string): string => model.replace(/(?<=.)\[[^\][]*\]$/, '')
