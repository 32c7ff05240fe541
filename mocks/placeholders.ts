// Ids become typed placeholders: `msg_01AbC…` → `msg_REDACTED_0001`. The same id is always the same placeholder, so
// that a tool result still meets its call; the length stays. Knows one exchange, and no format.

/** What the providers put in front of their ids; anything else in front could be a name. */
const PREFIX =
  /^(?:chatcmpl|cmpl|msg|resp|rs|fc|ws|ci|ig|mcp|call|toolu|srvtoolu|tooluse|tool|req|gen|run|file|batch|asst|thread|fp|embd|modr|container)[-_]/

/** Placeholders for the ids of one exchange, in the order in which they are asked for. */
export function createPlaceholders(): (id: string) => string {
  const known = new Map<string, string>()
  return (id) => {
    if (id === '') return ''
    const placeholder = known.get(id) ?? place(id, known.size + 1)
    known.set(id, placeholder)
    return placeholder
  }
}

/** As much of prefix, word and number as there is room for; the number goes first. */
function place(id: string, number: number): string {
  const prefix = PREFIX.exec(id)?.[0] ?? ''
  const digits = String(number)
  for (const front of [`${prefix}REDACTED_`, prefix])
    if (front.length + digits.length <= id.length)
      return front + digits.padStart(id.length - front.length, '0')
  return number.toString(36).padStart(id.length, '0').slice(-id.length)
}
