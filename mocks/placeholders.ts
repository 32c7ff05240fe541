// Ids and private names become typed placeholders: `msg_01AbC…` → `msg_REDACTED_000417`. The digits come from the id
// itself, so that an id in a path, in a body and in another exchange is the same placeholder, and so that replay finds
// what import wrote. The length stays. Knows no format. Few digits on purpose: see `place`.
import { createHash } from 'node:crypto'

/** What the providers put in front of their ids; anything else in front could be a name. */
const PREFIX =
  /^(?:chatcmpl|cmpl|msg|resp|rs|fc|ws|ci|ig|mcp|call|toolu|srvtoolu|tooluse|tool|req|gen|run|step|file|batch|asst|thread|vs|vsfb|ft|ftjob|ftevent|evt|job|conv|item|fp|embd|modr|container|upload|video|eval|evalrun)[-_]/

const MARK = 'REDACTED_'

/** A placeholder that can be nothing else: a mark and a small number, or a small number behind at least three zeros. */
const PLACEHOLDER = /^(?:[a-z]+[-_])?(?:REDACTED_0*\d{1,6}|0{3,}\d{1,3})$|^name-\d{3}$/

/** A provider's prefix and a small number: as good as a placeholder, and what a short id becomes. */
const isNumbered = (id: string): boolean =>
  /^\d{1,5}$/.test(id.slice(PREFIX.exec(id)?.[0].length ?? 0)) && PREFIX.test(id)

const isPlaceholder = (id: string): boolean => PLACEHOLDER.test(id) || isNumbered(id)

/** What a short id without a prefix became. A real id may look like that as well. */
const SHORT = /^\d{1,5}$/

/**
 * The placeholder of an id or a private name in an address, or of a model's: always the same one, and that of a
 * placeholder is itself. What is too short for a placeholder of its own length gets a longer one.
 */
export function placeholderOf(id: string): string {
  if (isPlaceholder(id)) return id
  const placeholder = place(id, 0)
  return isPlaceholder(placeholder) ? placeholder : `name-${place(`${id}......`, 0).slice(-3)}`
}

/**
 * Placeholders for the ids of one exchange; no two ids get the same one while there is room. `stored`: they come from
 * a recording, where a short number is a placeholder already.
 */
export function createPlaceholders(stored = false): (id: string) => string {
  const known = new Map<string, string>()
  const taken = new Set<string>()
  return (id) => {
    if (id === '' || isPlaceholder(id) || (stored && SHORT.test(id))) return id
    let placeholder = known.get(id) ?? place(id, 0)
    for (let step = 1; !known.has(id) && taken.has(placeholder) && step < 1000; step++)
      placeholder = place(id, step)
    known.set(id, placeholder)
    taken.add(placeholder)
    return placeholder
  }
}

/**
 * As much of prefix, mark and number as there is room for; the number goes first. An id that a machine made up gets
 * six digits. Anything shorter may be a name, and a longer number would confirm a guess at it: three.
 */
function place(id: string, step: number): string {
  const prefix = PREFIX.exec(id)?.[0] ?? ''
  const digits = id.length - prefix.length >= MARK.length + 6 && /\d/.test(id) ? 6 : 3
  const fits = (front: string, least: number) => front.length + least <= id.length
  const marked = `${prefix}${MARK}`
  const front = fits(marked, digits) ? marked : fits(prefix, 1) ? prefix : ''
  const room = id.length - front.length
  const size = 10 ** Math.min(digits, room)
  const number = (createHash('sha256').update(id).digest().readUIntBE(0, 6) + step) % size
  return front + String(number).padStart(room, '0')
}
