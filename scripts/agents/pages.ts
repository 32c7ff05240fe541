// Extracts one agent's part of docs/agents.md for the agent's page. Pure.

/** Returns the header of the table between these marks, and the rows of one agent. Throws if there are none. */
export function rowsOf(text: string, mark: string, title: string): string {
  const [, table = ''] = text.split(new RegExp(`<!-- ${mark}:(?:begin|end) -->\\n`))
  const lines = table.trimEnd().split('\n')
  const rows = lines.filter((line) => line.startsWith(`| ${title} `))
  if (rows.length === 0) throw new Error(`the table ${mark} in docs/agents.md has no row of ${title}`)
  return [...lines.slice(0, 2), ...rows].join('\n')
}
