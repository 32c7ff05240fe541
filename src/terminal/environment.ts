// What the environment says about the terminal that the client draws on; stdout is a pipe and cannot be asked.

type Env = Readonly<Record<string, string | undefined>>

/** COLUMNS, terminal cells; null when it is not set, no number, or 0, which terminals of unknown size report. */
export function columnsOf(env: Env): number | null {
  const columns = /^\d{1,5}$/.test(env.COLUMNS ?? '') ? Number(env.COLUMNS) : 0
  return columns > 0 ? columns : null
}

/** Colours are not wanted, or not understood. */
export const isColourless = (env: Env): boolean => Boolean(env.NO_COLOR) || env.TERM === 'dumb'

/** Terminals that are known to make OSC 8 links; tmux and ssh may strip them, so there they are left out. */
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
