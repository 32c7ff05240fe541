// What a request begins with, and what stays the same while its conversation grows: its tools, its instructions,
// and the messages up to and with the first one of the user. Not recursive: the sender decides how deep a
// request is.
import { readableText } from '../core/token-estimate.ts'
import { isObject } from './json.ts'

/** Marks of what to cache. Clients move them forward as a conversation grows. */
const MOVING = new Set(['cache_control'])

/** Returns it as a text to compare. A text counts as equal to a block that contains only this text. */
export function openingOf(tools: unknown, instructions: unknown, messages: unknown): string {
  const list = Array.isArray(messages) ? messages : [messages]
  const first = list.findIndex((message) => isObject(message) && message.role === 'user')
  return [...textsIn([instructions, list.slice(0, first + 1 || 1)]), readableText(tools, MOVING)].join('\n')
}

/** Returns the texts of messages in their order, whatever the dialect calls them. */
function textsIn(messages: unknown): string[] {
  const texts: string[] = []
  const waiting = [messages]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string') texts.push(value)
    else if (Array.isArray(value)) for (const each of value.toReversed()) waiting.push(each)
    else if (isObject(value)) waiting.push(value.text, value.parts, value.content)
  }
  return texts
}
