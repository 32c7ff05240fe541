// A small gateway with two mistakes, to try the conformance suite: node gateway.js
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

const { PORT, PROVIDER_URL, PROVIDER_KEY } = process.env
const refuse = (response, status, message) =>
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error: { message } }))

createServer(async (request, response) => {
  if (request.url === '/health') return response.end('well')
  if (request.url !== '/v1/chat/completions') return refuse(response, 404, 'there is no such path')
  const body = await text(request)
  try {
    if (typeof JSON.parse(body).model !== 'string') throw new Error()
  } catch {
    return refuse(response, 400, 'the body must be JSON with a model')
  }
  try {
    const answer = await fetch(`${PROVIDER_URL}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${PROVIDER_KEY}`, 'content-type': 'application/json' },
      body,
    })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') })
    for await (const chunk of answer.body) response.write(chunk)
    response.end()
  } catch {
    if (response.headersSent) response.end()
    else refuse(response, 502, 'the provider does not answer')
  }
}).listen(PORT, '127.0.0.1')
