// Reads the used share of a subscription from the provider's response headers. Pure.
import type { IncomingHttpHeaders } from 'node:http'

/**
 * Windows of Anthropic's plans: five hours and seven days. Some of these windows apply to only one family of
 * models.
 */
const ANTHROPIC = ['5h', '7d', '7d_opus', '7d_sonnet'] as const

/** Names of the windows of ChatGPT's plans. */
const CODEX = ['primary', 'secondary'] as const

/**
 * Returns a string such as `5h 83 % (until 2026-11-26T03:00Z), 7d 41 %`; null if the answer does not mention
 * a plan.
 */
export function planLimitsIn(headers: IncomingHttpHeaders): string | null {
  const windows =
    'anthropic-ratelimit-unified-status' in headers
      ? ANTHROPIC.flatMap((name) => anthropicWindow(headers, name))
      : 'x-codex-primary-used-percent' in headers
        ? CODEX.flatMap((name) => codexWindow(headers, name))
        : []
  return windows.length > 0 ? windows.join(', ') : null
}

function anthropicWindow(headers: IncomingHttpHeaders, name: string): string[] {
  const share = numberIn(headers, `anthropic-ratelimit-unified-${name}-utilization`)
  return share === null
    ? []
    : [text(name, share * 100, numberIn(headers, `anthropic-ratelimit-unified-${name}-reset`))]
}

function codexWindow(headers: IncomingHttpHeaders, name: string): string[] {
  const percent = numberIn(headers, `x-codex-${name}-used-percent`)
  const minutes = numberIn(headers, `x-codex-${name}-window-minutes`)
  if (percent === null || minutes === null) return []
  const window =
    minutes % 1_440 === 0 ? `${minutes / 1_440}d` : minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`
  return [text(window, percent, numberIn(headers, `x-codex-${name}-reset-at`))]
}

/** `resetsAt`: seconds since the epoch; null if unknown. */
function text(window: string, percent: number, resetsAt: number | null): string {
  const used = `${window} ${Math.round(percent)} %`
  return resetsAt === null || resetsAt > MAX_SECONDS
    ? used
    : `${used} (until ${new Date(resetsAt * 1_000).toISOString().replace(/:\d\d\.\d+Z$/, 'Z')})`
}

/** Last second of the year 9999. */
const MAX_SECONDS = 253_402_300_799

function numberIn(headers: IncomingHttpHeaders, name: string): number | null {
  const value = headers[name]
  return typeof value === 'string' && /^\d{1,12}(\.\d+)?$/.test(value) ? Number(value) : null
}
