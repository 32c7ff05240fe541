// Reads the properties of the client's terminal from the environment, because stdout is a pipe without a size.

type Env = Readonly<Record<string, string | undefined>>

/** Returns COLUMNS, in cells. Null if unset, not a number, or 0, which means an unknown size. */
export function terminalColumns(env: Env): number | null {
  const columns = /^\d{1,5}$/.test(env.COLUMNS ?? '') ? Number(env.COLUMNS) : 0
  return columns > 0 ? columns : null
}

/** Cells of COLUMNS in which Claude Code draws its margins; it cuts a status line that is longer than the rest. */
const CLAUDE_CODE_MARGINS = 4

/** Returns the cells that the client gives to its status line. Null if unknown. */
export function lineColumns(env: Env): number | null {
  const columns = terminalColumns(env)
  return columns !== null && env.CLAUDECODE ? Math.max(1, columns - CLAUDE_CODE_MARGINS) : columns
}

/** Returns true if colours are unwanted or unsupported. */
export const isColourless = (env: Env): boolean => Boolean(env.NO_COLOR) || env.TERM === 'dumb'

/** Returns true for terminals known to support OSC 8 links, unless in tmux or ssh, which may strip them. */
export function showsLinks(env: Env): boolean {
  if (env.FORCE_HYPERLINK !== undefined) return env.FORCE_HYPERLINK !== '0'
  if (env.TMUX || env.STY || env.SSH_CONNECTION) return false
  return (
    /^(iTerm\.app|WezTerm|vscode|ghostty|Hyper)$/.test(env.TERM_PROGRAM ?? '') ||
    env.TERM === 'xterm-kitty' ||
    Number(env.VTE_VERSION) >= 5000 ||
    Boolean(env.WT_SESSION)
  )
}
