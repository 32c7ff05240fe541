// A conforming variant: a gateway that does much in another way than the reference, and all of it rightly. The checks that bind everybody
// must pass it: what fails here is the suite's own taste.
import { changeEvent, changeJson, referenceWith } from '../fault.ts'

/** A name with a sign that means something in percent-encoding, which is this project's own way. */
export const PROVIDER = '100% openai'

/** Two pieces of text where there was one. */
function recut(event: string): readonly string[] {
  const text = /"content":\s*"([^"\\]{2,})"/.exec(event)?.[1]
  if (text === undefined) return [event]
  const letters = [...text]
  return [letters[0]!, letters.slice(1).join('')].flatMap((content) =>
    changeEvent(event, (json) => {
      json.choices[0].delta.content = content
      return json
    }),
  )
}

/** The older name of a limit, no default, a text for a list of one, and a field of its own. */
function otherWords(body: string): string {
  return changeJson(body, ({ max_completion_tokens, stream, messages, ...rest }) => ({
    ...rest,
    messages: messages.map((message: { content?: { text?: string }[] }) =>
      Array.isArray(message.content) ? { ...message, content: message.content[0]!.text } : message,
    ),
    ...(max_completion_tokens !== undefined && { max_tokens: max_completion_tokens }),
    ...(stream === true && { stream }),
    x_sent_by: 'another-gateway',
  }))
}

let made = 1_700_000_000

/** A catalog that is made anew each time, in any order. */
const anew = (body: string): string =>
  changeJson(body, (json) => {
    const data = json.data.map((entry: object) => ({ ...entry, created: made++ }))
    return { ...json, data: made % 2 === 0 ? data : data.toReversed() }
  })

export const start = referenceWith({
  upstream: {
    request(wanted) {
      if (wanted.method === 'POST') wanted.body = Buffer.from(otherWords(wanted.body.toString('utf8')))
    },
  },
  head({ headers }) {
    if (headers['x-gateway-provider'] === 'openai') headers['x-gateway-provider'] = PROVIDER
    // It speaks as HTTP/1.0 does: the end of the connection is the end of the body.
    delete headers['content-length']
    delete headers['transfer-encoding']
    headers.connection = 'close'
  },
  event: (event) => (event.includes('[DONE]') ? ['data:  [DONE] \r\n\r\n'] : recut(event)),
  body: (body, { path, method }) => (path === '/v1/models' && method === 'GET' ? anew(body) : body),
})
