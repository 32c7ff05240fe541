// Tests the forms in which recorders write one and the same exchange, and the words for files that are none.
import assert from 'node:assert/strict'
import test from 'node:test'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { exchangesOf, readForeign } from './read.ts'

const asked = '{"model":"m"}'
const said = { choices: [{ message: { content: 'Forty-one. Größe' } }] }
const text = JSON.stringify(said)
const base64 = (bytes: string | Buffer) => Buffer.from(bytes).toString('base64')
const url = 'https://api.openai.com/v1/chat/completions'

/** YAML of a cassette; the members of the request and of the response are JSON, which is YAML too. */
const cassette = (list: string, end: string, request: object, response: object) =>
  `${list}:\n- request: ${JSON.stringify({ method: 'POST', uri: url, body: asked, headers: {}, ...request })}\n  response: ${JSON.stringify({ status: { code: 200 }, headers: {}, body: { string: text }, ...response })}\n${end}\n`
const vcr = (request: object, response: object) => cassette('interactions', 'version: 1', request, response)
const inR = (version: string, response: object) =>
  cassette('http_interactions', `recorded_with: ${version}`, { body: { string: asked } }, response)
const mapping = (request: object, response: object) => ({
  request: {
    method: 'POST',
    url: '/v1/chat/completions',
    host: { equalTo: 'api.openai.com' },
    bodyPatterns: [{ equalToJson: asked }],
    ...request,
  },
  response: { status: 200, ...response },
})
const nocked = (call: object) => ({
  ...{ scope: 'https://api.openai.com:443', method: 'POST', path: '/v1/chat/completions' },
  ...{ body: JSON.parse(asked), status: 200, rawHeaders: {}, ...call },
})
const har = (headers: object[] = []) => ({
  log: {
    entries: [
      {
        request: { method: 'POST', url, headers, postData: { text: asked } },
        response: { status: 200, headers: [], content: { text } },
      },
    ],
  },
})

const files: [name: string, format: string, content: string | Buffer][] = [
  [
    'R vcr 2, with a number for the status',
    'R vcr',
    inR('VCR-vcr/2.1.0', { status: 200, headers: { date: 'Fri', vary: ['Origin', 'Referer'] } }),
  ],
  [
    'R vcr 1, with words around the status',
    'R vcr',
    inR('vcr/1.2.0, webmockr/0.9.0', { status: { status_code: '200', message: 'OK' } }),
  ],
  [
    'R vcr, with base64',
    'R vcr',
    inR('vcr/1.2.0', { status: 200, body: { encoding: '', file: false, base64_string: base64(text) } }),
  ],
  [
    'R vcr, with base64 of gzip',
    'R vcr',
    inR('VCR-vcr/2.0.0', { status: 200, body: { raw_gzip: base64(gzipSync(text)) } }),
  ],
  ['Ruby VCR', 'Ruby VCR', cassette('http_interactions', 'recorded_with: VCR 6.4.0', {}, {})],
  [
    'vcrpy, with parsed bodies',
    'vcrpy',
    vcr({ body: undefined, parsed_body: { model: 'm' } }, { body: undefined, parsed_body: said }),
  ],
  ['vcrpy, with a number for the status', 'vcrpy', vcr({}, { status: 200 })],
  [
    'vcrpy, with headers that are numbers, nothing and lists',
    'vcrpy',
    vcr(
      { headers: { 'x-n': 7, none: null, some: [1, null, 'a'], empty: [] } },
      { headers: { 'x-ok': true } },
    ),
  ],
  ['vcrpy, with pairs for headers', 'vcrpy', vcr({ headers: [['Accept', 'a']] }, { headers: null })],
  [
    'vcrpy, with bytes for a header',
    'vcrpy',
    vcr({}, {}).replace('"headers":{}', '"headers":{"content-type":[!!binary "YXBwbGljYXRpb24vanNvbg=="]}'),
  ],
  ['vcrpy, packed with gzip', 'vcrpy', gzipSync(vcr({}, {}))],
  ['vcrpy, packed with zstd', 'vcrpy', zstdCompressSync(vcr({}, {}))],
  [
    'vcrpy before its version 6, with httpx',
    'vcrpy',
    vcr(
      {},
      { status: undefined, body: undefined, content: text, status_code: 200, http_version: 'HTTP/1.1' },
    ),
  ],
  [
    'vcrpy, with tabs before the lines of a text',
    'vcrpy',
    vcr({}, {}).replace(
      JSON.stringify(text),
      `'{"choices":[{"message":{"content":"Forty-one.\n\t\tGröße"}}]}'`,
    ),
  ],
  ['nock', 'nock', JSON.stringify([nocked({ response: said })])],
  ['nock, by hand', 'nock', JSON.stringify([nocked({ rawHeaders: undefined, headers: {}, response: said })])],
  ['nock, with a text', 'nock', JSON.stringify([nocked({ response: text, body: asked })])],
  [
    'nock, with bytes',
    'nock',
    JSON.stringify([nocked({ response: Buffer.from(text).toString('hex'), responseIsBinary: true })]),
  ],
  [
    'nock, packed, with a list of headers',
    'nock',
    JSON.stringify([
      nocked({
        response: [gzipSync(text).toString('hex').slice(0, 30), gzipSync(text).toString('hex').slice(30)],
        rawHeaders: ['Content-Encoding', 'gzip', 'Set-Cookie', 'a', 'Set-Cookie', 'b'],
      }),
    ]),
  ],
  [
    "Datadog's test agent",
    'Datadog test agent',
    JSON.stringify({
      request: { method: 'POST', url, headers: { 'User-Agent': 'x' }, body: asked },
      response: { status: { code: 200, message: '' }, headers: {}, body: text },
    }),
  ],
  ['HAR as JSON, with a number in a header', 'HAR', JSON.stringify(har([{ name: 'x', value: 5 }]))],
  ['HAR as YAML', 'HAR', `log:\n  version: '1.2'\n  entries: ${JSON.stringify(har().log.entries)}\n`],
  ['HAR, packed', 'HAR', gzipSync(JSON.stringify(har()))],
  ['WireMock, a list of mappings', 'WireMock', JSON.stringify({ mappings: [mapping({}, { body: text })] })],
  ['WireMock, one mapping with JSON', 'WireMock', JSON.stringify(mapping({}, { jsonBody: said }))],
  [
    'WireMock, with base64 and a header that is a list',
    'WireMock',
    JSON.stringify(mapping({}, { base64Body: base64(text), headers: { 'x-a': ['1', '2'] } })),
  ],
  [
    'WireMock, with a path and parameters',
    'WireMock',
    JSON.stringify(
      mapping(
        { url: undefined, urlPath: '/v1/chat/completions', queryParameters: { a: { equalTo: '1' } } },
        { body: text },
      ),
    ),
  ],
]
for (const [name, format, content] of files)
  test(`a file of ${name} is read`, () => {
    assert.equal(readForeign('file', content).format, format)
    const [{ host, path, method, requestBody, status, responseBody, requestHeaders }] = exchangesOf(
      'file',
      content,
    ) as [ReturnType<typeof exchangesOf>[0]]
    assert.deepEqual([host, path, method, status], ['api.openai.com', '/v1/chat/completions', 'POST', 200])
    assert.equal(requestBody, asked)
    assert.equal(responseBody.toString(), text)
    for (const value of Object.values(requestHeaders)) assert.equal(typeof value, 'string')
  })

const wrong: [name: string, content: string | Buffer, words: RegExp][] = [
  [
    'of Postman',
    '{"info":{"schema":"https://schema.getpostman.com/json/collection/v2.1.0/"},"item":[]}',
    /looks like Postman/,
  ],
  ['of MockServer', '[{"httpRequest":{},"httpResponse":{}}]', /looks like MockServer/],
  [
    'of Pact',
    '{"consumer":{"name":"a"},"interactions":[{"description":"a","request":{},"response":{}}]}',
    /looks like Pact/,
  ],
  ['with other JSON', '{"name":"x","version":"1"}', /is JSON with name, version: no known recording format/],
  ['with a list', '[1]', /is JSON with a list: no known/],
  ['with nothing', '', /is empty: no known/],
  ['with prose', 'Hello.', /file: no known recording format/],
  ['with bytes', Buffer.from([0x89, 0x50, 0xff, 0x00]), /is not UTF-8 text/],
  ['with broken gzip', Buffer.from([0x1f, 0x8b, 1, 2, 3]), /is gzip, and cannot be unpacked/],
]
for (const [name, content, words] of wrong)
  test(`a file ${name} is named in words`, () => {
    assert.throws(() => readForeign('file', content), words)
  })

const refused: [name: string, content: string, words: RegExp][] = [
  [
    'a body in another file',
    inR('vcr/1.2.0', { status: 200, body: { file: true } }),
    /^its body is in a file of its own; record it again/,
  ],
  [
    'a list for the status',
    vcr({}, { status: [200] }),
    /^response\.status is a list that does not fit the format$/,
  ],
  ['no address', vcr({ uri: null }, {}), /^request\.uri is missing$/],
  [
    'an address that is a pattern',
    JSON.stringify(mapping({ url: undefined, urlPattern: '/v1/.*' }, { body: text })),
    /^its address is a pattern; give the mapping a url/,
  ],
  [
    'a body of WireMock in another file',
    JSON.stringify(mapping({}, { bodyFileName: 'a.json' })),
    /^its body is in the file a\.json; put it into/,
  ],
]
for (const [name, content, words] of refused)
  test(`an exchange with ${name} is refused in words`, () => {
    const [one] = readForeign('file', content).exchanges
    assert.match((one as { refused: string }).refused, words)
    assert.doesNotMatch((one as { refused: string }).refused, /Invalid|expected|received/)
  })
