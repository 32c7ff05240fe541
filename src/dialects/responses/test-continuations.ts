// Conversations without pauses, for tests. Each request names the previous answer as soon as the client has
// seen its end. Whole and streamed requests alternate.
import { type Dispatcher, Pool } from 'undici'
import type { Script } from '../../../mocks/test-upstream.ts'
import { response } from './test-samples.ts'

/** Returns the script of a provider that stores every answer. `name`: prefix of the answers' ids. */
export function keepsAnswers(name = 'a'): Script {
  let made = 0
  return (res, { json }) => {
    const whole = response('m', 'completed', { id: `resp_${name}_${++made}`, store: true })
    const event = (type: string, status: string) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, response: { ...whole, status } })}\n\n`
    if (json.stream)
      res
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(event('response.created', 'in_progress') + event('response.completed', 'completed'))
    else res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole))
  }
}

/**
 * Makes `count` calls in `lanes` conversations, turn by turn at the given gateways. Calls `onEnd` with an
 * answer's id when the client has received its end. Returns the unsuccessful answers.
 */
export async function converse(
  urls: readonly string[],
  { count, lanes, onEnd = () => {} }: { count: number; lanes: number; onEnd?: (id: string) => void },
): Promise<string[]> {
  const failures: string[] = []
  const pools = urls.map((url) => new Pool(url, { connections: 2 * lanes }))
  const lane = async (_: unknown, at: number) => {
    let previous: string | null = null
    for (let turn = 0; turn < count / lanes; turn++) {
      const body: object = {
        ...{ model: 'auto', input: 'x', stream: (turn + at) % 2 === 0 },
        ...(previous !== null && { previous_response_id: previous }),
      }
      const answer: Dispatcher.ResponseData = await pools[turn % pools.length]!.request({
        ...{ method: 'POST', path: '/v1/responses', body: JSON.stringify(body) },
        headers: { 'content-type': 'application/json' },
      })
      let text = ''
      for await (const chunk of answer.body.setEncoding('utf8')) text += chunk
      previous = answer.statusCode === 200 ? /"id":"(resp_[^"]+)"/.exec(text)![1]! : null
      if (previous === null) failures.push(`${answer.statusCode} ${text.slice(0, 300)}`)
      else onEnd(previous)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  await Promise.all(pools.map((pool) => pool.close()))
  return failures
}
