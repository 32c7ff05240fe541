// The opening of a request, which stays the same while the conversation grows: tools, instructions, and the
// messages up to the user's first one. Not recursive, because a sender may nest a request to any depth.
import { readableText } from '../core/token-estimate.ts'
import { isObject } from './json.ts'

/** Cache hints. Clients move them forward as a conversation grows. */
const MOVING = new Set(['cache_control'])

/** Returns the opening as a string to compare. Plain text equals a block with the same text. */
export function openingOf(tools: unknown, instructions: unknown, messages: unknown): string {
  const list = Array.isArray(messages) ? messages : [messages]
  const first = list.findIndex((message) => isObject(message) && message.role === 'user')
  return [...textsIn([instructions, list.slice(0, first + 1 || 1)]), readableText(tools, MOVING)].join('\n')
}

/** Returns the texts of messages in order, under the member names of any dialect. */
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
