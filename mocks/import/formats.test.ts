// Tests every supported format in every variant that recorders write: a file is read completely, or the error
// names it. Over 250 lines, because it contains a sample file of every format.
import assert from 'node:assert/strict'
import test from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { readForeign } from './read.ts'

const answer = '{"greeting":"grüezi","more":[1,2,3]}'
const asked = '{"model":"tiny"}'
const url = 'https://api.openai.com/v1/chat/completions'
const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')

/** One exchange in each format; `bytes` is the body as transmitted. */
const vcrpy = (bytes: Buffer | string = answer, encoding = 'identity') => `- request:
    body: '${asked}'
    headers:
      accept:
      - '*/*'
    method: POST
    uri: ${url}
  response:
    body:
      string: !!binary |
        ${base64(bytes)}
    headers:
      content-encoding:
      - ${encoding}
    status:
      code: 200
      message: OK
`
const ruby = (body = `string: '${answer}'`) => `- request:
    method: post
    uri: ${url}
    body:
      encoding: UTF-8
      base64_string: ${base64(asked)}
    headers: {}
  response:
    status:
      code: 200
      message: OK
    headers:
      Content-Type:
      - application/json
    body:
      encoding: UTF-8
      ${body}
  recorded_at: Sat, 21 Nov 2026 10:00:00 GMT
`
const go = (body = answer) => `- request:
    body: '${asked}'
    form: {}
    headers: {}
    url: ${url}
    method: POST
  response:
    body: |-
      ${body}
    headers: {}
    status: 200 OK
    code: 200
    duration: 12.5ms
`
const httpmock = (body = answer, type = 'application/json') => `when:
  path: /v1/chat/completions
  method: POST
  query_param:
  - name: alt
    value: sse
  header: []
  body: '${asked}'
then:
  status: 200
  header:
  - name: content-type
    value: ${type}
  body: |+
    ${body}
`
const entry = (content: object = { text: answer }, status: unknown = 200) => ({
  request: { method: 'POST', url, headers: [], postData: { text: asked } },
  response: { status, headers: [{ name: 'Content-Encoding', value: 'br' }], content },
})
const har = (...entries: unknown[]) => JSON.stringify({ log: { version: '1.2', entries } })
const json = (text: string): unknown => JSON.parse(text)
const vcrpyJson = (body: object = { string: answer }) => ({
  request: { body: asked, headers: {}, method: 'POST', uri: url },
  response: { body, headers: {}, status: { code: 200, message: 'OK' } },
})
const rubyJson = {
  request: { method: 'post', uri: url, body: { encoding: 'UTF-8', string: asked }, headers: {} },
  response: {
    status: { code: 200, message: 'OK' },
    headers: {},
    body: { encoding: 'ASCII-8BIT', base64_string: `${base64(answer)}\n` },
  },
}

const files = {
  vcrpy: ['a.yaml', `interactions:\n${vcrpy()}version: 1\n`],
  'vcrpy, JSON': ['a.json', JSON.stringify({ version: 1, interactions: [vcrpyJson()] })],
  'vcrpy, JSON with base64_string': [
    'a.json',
    JSON.stringify({ version: 1, interactions: [vcrpyJson({ base64_string: base64(answer) })] }),
  ],
  'Ruby VCR': ['a.yml', `---\nhttp_interactions:\n${ruby()}recorded_with: VCR 6.4.0\n`],
  'Ruby VCR, base64_string': [
    'a.yml',
    `---\nhttp_interactions:\n${ruby(`base64_string: |\n        ${base64(answer)}`)}recorded_with: VCR 6.4.0\n`,
  ],
  'Ruby VCR, JSON': ['a.json', JSON.stringify({ http_interactions: [rubyJson], recorded_with: 'VCR 6.4.0' })],
  'go-vcr v1': ['a.yaml', `---\nversion: 1\ninteractions:\n${go()}`],
  'go-vcr v2': [
    'a.yaml',
    `---\nversion: 2\ninteractions:\n${go().replace('- request', '- id: 0\n  request')}`,
  ],
  HAR: ['a.har', har(entry())],
  'HAR in a .json file': ['a.json', har(entry())],
  httpmock: ['a.yaml', httpmock()],
} as const

for (const [format, [file, text]] of Object.entries(files)) {
  test(`an exchange recorded as ${format} can be read (REC-01)`, () => {
    const { format: found, exchanges } = readForeign(file, text)
    assert.equal(found, format.split(',')[0]!.replace(/ (?:v\d|in .*)$/, ''))
    const [one] = exchanges
    assert.ok(one && 'status' in one, JSON.stringify(one))
    assert.deepEqual(
      [one.method, one.path, one.status, one.requestBody, one.responseBody.toString().trimEnd()],
      ['POST', '/v1/chat/completions', 200, asked, answer],
    )
    assert.equal(one.host, format === 'httpmock' ? '' : 'api.openai.com')
  })
  test(`an exchange recorded as ${format} can be read with a byte order mark, in UTF-16, and with any file name`, () => {
    const plain = JSON.stringify(readForeign(file, text))
    assert.equal(JSON.stringify(readForeign(file, Buffer.from(`\ufeff${text}`))), plain)
    assert.equal(JSON.stringify(readForeign(file, Buffer.from(`\ufeff${text}`, 'utf16le'))), plain)
    assert.equal(JSON.stringify(readForeign('cassette', text)), plain)
    assert.equal(JSON.stringify(readForeign(file, text.replaceAll('\n', '\r\n')).exchanges.length), '1')
  })
  // A file that is cut at any place is refused. Only white space at its end may be missing.
  test(`a file recorded as ${format} is refused if it is cut at any place (REC-03)`, () => {
    const whole = text.trimEnd().length
    const accepted: number[] = []
    for (let end = 1; end < whole; end++) {
      try {
        const { exchanges } = readForeign(file, text.slice(0, end))
        if (exchanges.some((one) => 'status' in one)) accepted.push(end)
      } catch {}
    }
    // The last line names the recorder's version, so every exchange is complete without its last characters.
    const slack = format.startsWith('Ruby') ? 'VCR 6.4.0'.length : 0
    assert.deepEqual(
      accepted.filter((end) => end < whole - slack),
      [],
    )
  })
}

test('an event stream that is cut between two lines is refused (REC-03)', () => {
  const text = httpmock('data: {"a":1}\n\n    data: {"a":2}\n', 'text/event-stream')
  assert.equal(readForeign('a.yaml', text).exchanges.length, 1)
  const cut = text.slice(0, text.indexOf('data: {"a":2}') + 9)
  assert.throws(() => readForeign('a.yaml', `${cut}\n`), /is truncated/)
})

const encodings: [name: string, bytes: Buffer][] = [
  ['gzip', gzipSync(answer)],
  ['deflate', deflateSync(answer)],
  ['deflate', deflateRawSync(answer)],
  ['br', brotliCompressSync(answer)],
  ['zstd', zstdCompressSync(answer)],
  ['gzip, br', brotliCompressSync(gzipSync(answer))],
  // Headers still state the encoding of a body that was decoded before it was stored.
  ...['gzip', 'deflate', 'br', 'zstd'].map((name): [string, Buffer] => [name, Buffer.from(answer)]),
]
for (const [name, bytes] of encodings)
  test(`a ${bytes.length}-byte body with content-encoding ${name} is decoded, or left unchanged if the recorder decoded it (REC-01)`, () => {
    const [one] = readForeign('a.yaml', `interactions:\n${vcrpy(bytes, name)}version: 1\n`).exchanges
    assert.ok(one && 'status' in one, JSON.stringify(one))
    assert.equal(one.responseBody.toString(), answer)
  })

test("a bad exchange is refused by name, and the file's other exchanges are read", () => {
  const bad = gzipSync(answer)
  bad[bad.length - 6]! ^= 0xff
  const broken = bad.subarray(0, 30)
  const spoiled: [file: string, text: string, reason: RegExp][] = [
    ['a.yaml', `interactions:\n${vcrpy(bad, 'gzip')}${vcrpy()}version: 1\n`, /gzip .*cannot be unpacked/],
    ['a.yaml', `interactions:\n${vcrpy(broken, 'gzip')}${vcrpy()}version: 1\n`, /gzip .*cannot be unpacked/],
    [
      'a.yaml',
      `interactions:\n${vcrpy(Buffer.from([0xff, 0xfe, 0x01]), 'zstd')}${vcrpy()}version: 1\n`,
      /zstd/,
    ],
    [
      'a.yaml',
      `interactions:\n${vcrpy().replace('code: 200', 'code: soon')}${vcrpy()}version: 1\n`,
      /response\.status is an object that does not fit the format/,
    ],
    ['a.yaml', `interactions:\n${vcrpy().replace("'*/*'", '"*/*')}${vcrpy()}version: 1\n`, /./],
    [
      'a.yml',
      `---\nhttp_interactions:\n${ruby('nothing: 1')}${ruby()}recorded_with: VCR 6\n`,
      /response\.body/,
    ],
    ['a.yaml', `---\nversion: 1\ninteractions:\n${go().replace('code: 200', 'code: [')}${go()}`, /./],
    ['a.har', har(entry(undefined, '200'), entry()), /response\.status/],
    ['a.har', har(entry({ text: '[1]', encoding: 'base64' }), entry()), /./],
    ['a.json', JSON.stringify({ version: 1, interactions: [{}, vcrpyJson()] }), /request/],
    ['a.yaml', `${httpmock().replace('status: 200', 'status: soon')}---\n${httpmock()}`, /status/],
  ]
  for (const [file, text, reason] of spoiled) {
    const { exchanges } = readForeign(file, text)
    assert.equal(exchanges.length, 2, text)
    const [first, second] = exchanges
    assert.ok(first && 'refused' in first, text)
    assert.match(first.refused, reason)
    assert.doesNotMatch(first.refused, /\n/)
    assert.ok(second && 'status' in second, JSON.stringify(second))
    assert.equal(second.responseBody.toString().trimEnd(), answer)
  }
  assert.ok(json(har()))
})

test('a file that is too large, compressed or not, is refused within bounded memory, and the error names the file', () => {
  const bomb = gzipSync(Buffer.alloc(40_000_000, 'x'))
  const double = gzipSync(bomb)
  for (const [name, bytes] of [
    ['gzip', bomb],
    ['gzip, gzip', double],
  ] as const) {
    const [one, two] = readForeign(
      'a.yaml',
      `interactions:\n${vcrpy(bytes, name)}${vcrpy()}version: 1\n`,
    ).exchanges
    assert.ok(
      one && 'refused' in one && /more than 16 MiB/.test(one.refused),
      JSON.stringify(one).slice(0, 300),
    )
    assert.ok(two && 'status' in two)
  }
  const large = 'x'.repeat(17 * 2 ** 20)
  const before = process.memoryUsage().rss
  for (const [file, text] of [
    ['a.har', har(entry({ text: large }), entry())],
    ['a.yaml', `---\nversion: 1\ninteractions:\n${go(large)}${go()}`],
    [
      'a.yaml',
      `interactions:\n${vcrpy().replace(/!!binary[\s\S]*?\n {4}headers/, `'${large.repeat(4)}'\n    headers`)}${vcrpy()}version: 1\n`,
    ],
  ] as const) {
    const { exchanges } = readForeign(file, text)
    assert.match((exchanges[0] as { refused: string }).refused, /more than 16 MiB/)
    assert.ok('status' in exchanges[1]!)
  }
  const grown = (process.memoryUsage().rss - before) / 2 ** 20
  assert.ok(grown < 1500, `${Math.round(grown)} MiB more`)
})

test('a body that a serializer has parsed below `string`, and a content beside a status, are read (REC-02)', () => {
  const said = { id: 'x', object: 'list', data: [] }
  const request = { method: 'POST', uri: 'https://api.openai.com/v1/embeddings', headers: {} }
  const status = { code: 200, message: 'OK' }
  for (const response of [
    { status, headers: {}, body: { string: said } },
    { status, headers: {}, content: JSON.stringify(said) },
  ]) {
    const interactions = [{ request: { ...request, body: { string: { input: 'x' } } }, response }]
    const [one] = readForeign('a.json', JSON.stringify({ version: 1, interactions })).exchanges
    assert.ok(one && 'status' in one, JSON.stringify(one))
    assert.deepEqual(JSON.parse(one.responseBody.toString()), said)
    assert.equal(one.requestBody, '{"input":"x"}')
  }
})

test('a cassette of go-vcr without exchanges is complete', () => {
  assert.deepEqual(readForeign('a.yaml', '---\nversion: 2\ninteractions: []\n').exchanges, [])
})
