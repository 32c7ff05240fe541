// A provider that caches prompts by their messages, and refuses every so many requests. A message ends with its
// number of tokens (`any text #120`). Independent of the gateway.
import { createHash } from 'node:crypto'
import type { Script } from '../../mocks/test-upstream.ts'

interface CachingProvider {
  readonly now: () => number
  readonly lifeMs: number
  readonly min: number
  readonly step: number
  /** True if usage reports the tokens that are written to the cache. */
  readonly writes: boolean
  /** Refuses the requests whose number is a multiple of this; none if absent. */
  readonly failsEach?: number
}

interface Message {
  readonly content: string | readonly { readonly text: string; readonly cache_control?: object }[]
}

const sizeOf = (text: string): number => Number(text.slice(text.lastIndexOf('#') + 1))

/** Answers chat and messages. Caches every chat prompt, and messages as far as `cache_control` marks them. */
export function cachingProvider({ now, lifeMs, min, step, writes, failsEach }: CachingProvider): Script {
  const ends = new Map<string, number>()
  let requests = 0
  return (response, { json, path }) => {
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (failsEach !== undefined && ++requests % failsEach === 0)
      return send(503, { error: { message: 'busy', type: 'overloaded_error' } })
    const isMessages = path.endsWith('/messages')
    let [key, input, cached, cacheable] = ['', 0, 0, 0]
    const keys: string[] = []
    for (const { content } of json.messages as readonly Message[]) {
      const block = typeof content === 'string' ? { text: content } : content[0]!
      key = createHash('sha1').update(key).update(block.text).digest('base64')
      input += sizeOf(block.text)
      if ((ends.get(key) ?? 0) > now()) cached = input
      keys.push(key)
      if (!isMessages || 'cache_control' in block) cacheable = input
    }
    const whole = (tokens: number) => (tokens < min ? 0 : tokens - (tokens % step))
    cacheable = whole(cacheable)
    cached = whole(Math.min(cached, cacheable))
    if (cacheable > 0) for (const each of keys) ends.set(each, now() + lifeMs)
    const written = writes ? cacheable - cached : 0
    const output = 20 + (Number.parseInt(createHash('sha1').update(key).digest('hex').slice(0, 6), 16) % 900)
    if (isMessages)
      return send(200, {
        ...{ id: 'msg_1', type: 'message', role: 'assistant', model: json.model, stop_reason: 'end_turn' },
        content: [{ type: 'text', text: `answer #${output}` }],
        usage: {
          input_tokens: input - cached - written,
          cache_read_input_tokens: cached,
          cache_creation_input_tokens: written,
          output_tokens: output,
        },
      })
    send(200, {
      ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 0, model: json.model },
      choices: [
        { index: 0, message: { role: 'assistant', content: `answer #${output}` }, finish_reason: 'stop' },
      ],
      usage: {
        prompt_tokens: input,
        completion_tokens: output,
        total_tokens: input + output,
        prompt_tokens_details: { cached_tokens: cached, ...(writes && { cache_write_tokens: written }) },
      },
    })
  }
}
