// Gives answers fresh ids. A provider never repeats an id, and gateways use ids as keys of records. A
// recorded or made-up answer has the same id each time, so the answer to each distinguishable call gets its
// own id. The new id has the same length, so chunks and lengths do not change.
import type { MockAnswer, Part } from '../answer.ts'

/** Ids of an answer, in the members `id` and `response_id`. */
const ID = /"id": ?"((?:chatcmpl-|cmpl-|gen-|msg_|resp_)([\w-]{12,}))"/g

/** Maximum bytes searched, more than any generated text; longer answers hold other data. */
const MAX_SEARCHED_BYTES = 256 * 1024

/** Replaces the ids of an answer; `own` is different for each call. */
export function withOwnId(answer: MockAnswer, own: string): MockAnswer {
  const all = Buffer.concat(answer.parts.filter(isBytes))
  if (all.length > MAX_SEARCHED_BYTES) return answer
  const text = all.toString('latin1') // one character per byte
  const ids = new Map([...text.matchAll(ID)].map(([, id, rest]) => [id!, rest!]))
  if (ids.size === 0) return answer
  let changed = text
  for (const [index, [id, rest]] of [...ids].entries()) {
    const turned = own.slice(index) + own.slice(0, index)
    const tail = turned.padEnd(rest.length, '0').slice(0, rest.length)
    changed = changed.replaceAll(id, id.slice(0, -rest.length) + tail)
  }
  const bytes = Buffer.from(changed, 'latin1')
  let at = 0
  const parts = answer.parts.map((part): Part => {
    if (!isBytes(part)) return part
    at += part.length
    return bytes.subarray(at - part.length, at)
  })
  return { ...answer, parts }
}

const isBytes = (part: Part): part is Uint8Array => part instanceof Uint8Array
