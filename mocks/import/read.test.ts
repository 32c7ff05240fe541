import assert from 'node:assert/strict'
import test from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Interaction } from './interaction.ts'
import { readForeign } from './read.ts'

const answer = '{"greeting":"grüezi"}'
const base64 = Buffer.from(answer).toString('base64')
const zipped = gzipSync(answer)

const vcrpy = `interactions:
- request:
    body: '{"model":"tiny","note":"folded
      over two lines"}'
    headers:
      Accept:
      - text/html
      - application/json
    method: POST
    uri: https://api.example.com/v1/chat?key=abc
  response:
    body:
      string: !!binary |
        ${zipped.toString('base64')}
    headers:
      content-encoding:
      - gzip
    status:
      code: 200
      message: OK
version: 1
`

const rubyVcr = `---
http_interactions:
- request:
    method: post
    uri: "<API_BASE>/chat"
    body:
      encoding: UTF-8
      string: '{"model":"tiny"}'
    headers:
      Content-Type:
      - application/json
  response:
    status:
      code: 401
      message: Unauthorized
    headers:
      Retry-After:
      - '1'
    body:
      encoding: ASCII-8BIT
      string: !binary |-
        ${base64}
  recorded_at: Sat, 21 Nov 2026 10:00:00 GMT
recorded_with: VCR 6.4.0
`

const goVcr = `---
version: 2
interactions:
- id: 0
  request:
    body: ""
    headers:
      Accept:
      - application/json
    url: https://api.example.com/v1/models
    method: GET
  response:
    body: '${answer}'
    headers:
      Content-Type:
      - application/json
    status: 200 OK
    code: 200
    duration: 12ms
`

const har = JSON.stringify({
  log: {
    entries: [
      {
        request: {
          method: 'POST',
          url: 'https://api.example.com/v1/chat',
          headers: [{ name: 'Accept', value: '*/*' }],
          postData: { mimeType: 'application/json', text: '{"model":"tiny"}' },
        },
        response: {
          status: 200,
          headers: [
            { name: 'Vary', value: 'a' },
            { name: 'vary', value: 'b' },
          ],
          content: {
            encoding: 'base64',
            text: JSON.stringify(
              [zipped.subarray(0, 10), zipped.subarray(10)].map((piece) => piece.toString('base64')),
            ),
          },
        },
      },
    ],
  },
})

const exchanges = (file: string, text: string) => readForeign(file, text).exchanges as Interaction[]

test('vcrpy cassettes with folded strings, lists of headers and gzip under !!binary are read', () => {
  const [one] = exchanges('a.yaml', vcrpy)
  assert.deepEqual(
    { ...one, responseBody: one!.responseBody.toString() },
    {
      url: 'https://api.example.com/v1/chat?key=abc',
      host: 'api.example.com',
      path: '/v1/chat',
      method: 'POST',
      requestHeaders: { accept: 'text/html, application/json' },
      requestBody: '{"model":"tiny","note":"folded over two lines"}',
      status: 200,
      responseHeaders: { 'content-encoding': 'gzip' },
      responseBody: answer,
    },
  )
})

test('Ruby VCR cassettes with lower-case methods, placeholders for hosts and !binary are read', () => {
  const [one] = exchanges('a.yml', rubyVcr)
  assert.deepEqual([one?.method, one?.host, one?.path, one?.status], ['POST', '<API_BASE>', '/chat', 401])
  assert.deepEqual(one?.responseHeaders, { 'retry-after': '1' })
  assert.equal(one?.responseBody.toString(), answer)
})

test('an empty request body in a go-vcr cassette is treated as no body', () => {
  const [one] = exchanges('a.yaml', goVcr)
  assert.deepEqual(
    [one?.method, one?.host, one?.path, one?.requestBody],
    ['GET', 'api.example.com', '/v1/models', null],
  )
  assert.equal(one?.responseBody.toString(), answer)
})

test('a HAR file with a compressed body in base64 pieces and a repeated header is read', () => {
  const [one] = exchanges('recording.har', har)
  assert.equal(one?.requestBody, '{"model":"tiny"}')
  assert.deepEqual(one?.responseHeaders, { vary: 'a, b' })
  assert.equal(one?.responseBody.toString(), answer)
})

test('a file that is not a recording is refused, and the error names the file', () => {
  assert.throws(() => readForeign('notes.txt', 'hello'), /^Error: notes\.txt: no known recording format/)
  assert.throws(() => readForeign('a.yaml', 'hello: 1'), /^Error: a\.yaml: no known recording format/)
  assert.throws(() => readForeign('a.har', '{"log":{}}'), /^Error: a\.har: log\.entries is not a list[^\n]+$/)
  assert.throws(() => readForeign('a.har', 'no\nJSON'), /^Error: a\.har: no known recording format[^\n]+$/)
  assert.throws(
    () => readForeign('a.yaml', 'interactions:\n- [\n'),
    /^Error: a\.yaml: is truncated: [^\n]+[^:]$/,
  )
})
