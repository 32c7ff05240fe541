// Masks leave ordinary text unchanged, and no secret exposes the remainder of another.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { answer, fail } from '../../mocks/test-upstream.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/registry.ts'
import type { Samples } from '../dialects/test-sample-type.ts'
import { ALL } from '../dialects/test-samples.ts'
import { ask, type TestGateway, testGateway } from '../test/test-gateway.ts'
import { processorMs } from '../test/test-processor-time.ts'
import { sample } from '../test/test-size.ts'
import { createKeySearch, createMask } from './redact.ts'

test('whatever the order of the list, a secret that begins with another secret is masked first (KEEP-01)', () => {
  const [short, long] = ['sk-shared', 'sk-shared/of-beta']
  for (const secrets of [
    [short, long],
    [long, short],
  ]) {
    const mask = createMask(secrets)
    assert.equal(mask(`${short} ${long} ${encodeURIComponent(long)}`), '*** *** ***')
  }
})

test('when a provider echoes a key that begins like another key, the client sees neither key (KEEP-02)', async (t) => {
  const secrets = new Map([
    ['alpha', 'sk-shared'],
    ['beta', 'sk-shared-and-the-rest'],
  ])
  const { chat } = await testGateway(t, {
    providers: { alpha: answer(), beta: fail(400, {}, { message: `no such key ${secrets.get('beta')}` }) },
    options: { secrets },
  })
  const { status, json } = await chat(ask('beta/model-b'))
  assert.deepEqual([status, json.error.message], [400, 'no such key ***'])
})

/** A key with all characters that some encoder escapes. */
const KEY = 'ABSK+x/y&z<q>"\\\'=of-alpha=='
const hex = (key: string, digits: (code: string) => string) =>
  Array.from(key, (char) => `\\u${digits(char.charCodeAt(0).toString(16).padStart(4, '0'))}`).join('')
const plain = JSON.stringify(KEY).slice(1, -1)
const upper = (code: string) => code.toUpperCase()
const escapedOnly = (...characters: string[]) =>
  characters.reduce((text, character) => text.replaceAll(character, hex(character, upper)), plain)

/** Spellings of a key in JSON by different encoders. */
const SPELLINGS: Readonly<Record<string, string>> = {
  plain,
  'as .NET does': escapedOnly('+', '&', '<', '>', "'"),
  'as PHP does': plain.replaceAll('/', '\\/'),
  'as Go does': escapedOnly('&', '<', '>').toLowerCase().replace('absk', 'ABSK'),
  'fully, in small letters': hex(KEY, (code) => code),
  'fully, in capitals': hex(KEY, upper),
  'one letter': plain.replace('B', '\\u0042'),
  'inside of arguments': JSON.stringify(escapedOnly('+', '/')).slice(1, -1),
  'fully inside of arguments': JSON.stringify(hex(KEY, (code) => code)).slice(1, -1),
  'with an escaped backslash': hex(KEY, upper).replaceAll('\\', '\\u005c'),
  'behind a backslash': `\\\\${plain}`,
}

/** Spellings that are tried for every pair of dialects. */
const CROSSED = new Set(['as .NET does', 'as PHP does', 'inside of arguments'])

/** Throws if a string shows the key in any spelling. */
function assertNoKey(text: string, where: string): void {
  let shown = text
  for (let depth = 0; depth < 8; depth++) {
    assert.ok(!shown.includes(KEY), `${where} shows the key: ${text}`)
    shown = shown.replace(/\\(?:u([\da-f]{4})|(.))/gi, (_, code, other) =>
      code ? String.fromCharCode(Number.parseInt(code, 16)) : other,
    )
  }
}

test('a key is masked in every JSON spelling, and the rest of the JSON stays the same (KEEP-02)', () => {
  const mask = createMask([KEY])
  const holdsKey = createKeySearch(KEY)
  for (const [name, spelled] of Object.entries(SPELLINGS))
    for (const [before, after] of [
      ['', ''],
      ['a "quoted" text \\\n é\u2028', ' and \\u002B of no key'],
    ]) {
      const [start, end] = [before, after].map((text) => JSON.stringify(text).slice(1, -1))
      const text = `{"a":"${start}${spelled}${end}","b":[1.0,18446744073709551616]}`
      assert.ok(holdsKey(Buffer.from(text)), name)
      const masked = mask(text)
      assert.equal(masked, `{"a":"${start}***${end}","b":[1.0,18446744073709551616]}`, name)
      assert.equal(JSON.parse(masked).a, `${before}***${after}`)
      assertNoKey(masked, name)
    }
  for (const text of ['ABSK+x/y&z', JSON.stringify('a\n\u0000<b>/\\u002B'), '{"x":"\\u002B\\/"}', '50%']) {
    assert.equal(holdsKey(Buffer.from(text)), false)
    assert.equal(mask(text), text)
  }
})

test('a hostile text does not slow down the search for a key (FLOW-10)', () => {
  const mask = createMask(['sk-of-alpha-0123456789'])
  const long = 2 ** 20
  for (const piece of [
    '\\',
    '\\u005c',
    's',
    '\\u0073',
    's\\\\\\\\',
    '%73',
    'sk-of-alpha-012345678',
    'u0073\\',
  ]) {
    const start = processorMs()
    mask(`${piece.repeat(long / piece.length)}%\\`)
    const ms = processorMs() - start
    assert.ok(ms < 1_000, `${piece}: ${ms} ms`)
  }
})

for (const [name, , samples] of ALL.filter(([name]) => name in DIALECTS))
  test(`${name}: a key repeated by a provider is masked in whole and streamed answers, headers, errors and stored answers (KEEP-01, KEEP-02)`, async (t) => {
    const gateway = await testGateway(t, {
      dialects: { alpha: [name] },
      config: 'routes: { auto: { targets: [ { model: alpha/m } ] } }\nartifacts: { bodies: true }',
      options: { secrets: new Map([['alpha', KEY]]) },
    })
    const clients = Object.entries(DIALECTS).filter(
      ([client]) => client === name || (blocksOf(client) && blocksOf(name)),
    )
    const canStream = samples.stream('m') !== ''
    const asked = clients.flatMap(([client]) =>
      (canStream ? [false, true] : [false]).flatMap((stream) =>
        Object.entries(SPELLINGS)
          .filter(([how]) => client === name || CROSSED.has(how))
          .flatMap(([how, spelled]) =>
            [200, 400].map((status) => ({ client, stream, how, spelled, status })),
          ),
      ),
    )
    for (const { client, stream, how, spelled, status } of sample(asked, 3)) {
      const said = { 'content-type': 'application/json', 'x-request-id': encodeURIComponent(KEY) }
      gateway.upstream.alpha!.script = (response) => {
        if (status !== 200) {
          const error = `{"type":"error","error":{"type":"x","message":"no ${spelled} here","code":400,"status":"X"}}`
          response.writeHead(status, said).end(error)
        } else if (stream) {
          response.writeHead(200, { ...said, 'content-type': 'text/event-stream' })
          response.end(samples.stream('m').replaceAll(/Grüße |AA==/g, spelled))
        } else response.writeHead(200, said).end(whole(samples, spelled))
      }
      const answered = await call(gateway, client, stream)
      const where = `${client} to ${name}, ${stream ? 'streamed' : 'whole'}, ${status}, ${how}`
      assert.equal(answered.status, status, `${where}: ${answered.text}`)
      if (status === 400 || client === name || stream) assert.match(answered.text, /\*\*\*/, where)
      if (!stream)
        assert.equal(Number(answered.headers.get('content-length')), Buffer.byteLength(answered.text), where)
      assertNoKey(answered.text, where)
      assertNoKey(decodeURIComponent(JSON.stringify([...answered.headers])), where)
      const id = answered.headers.get('x-gateway-request-id')
      assertNoKey(JSON.stringify(await gateway.record(id)), `${where}: record`)
      const kept = await gateway.get(`/api/usage/request-logs/${id}/artifact`)
      assert.equal(kept.status, 200)
      assert.match(kept.text, /\*\*\*/)
      assertNoKey(kept.text, `${where}: artifact`)
    }
  })

const blocksOf = (name: string) => (DIALECTS as Record<string, Dialect>)[name]!.blocks

/** Returns a whole answer that repeats a key. */
const whole = (samples: Samples, spelled: string): string =>
  samples.answer('m', {}).replace('{', `{"echo":"${spelled}",`).replace('"x"', `"${spelled}"`)

function call({ get }: TestGateway, client: string, stream: boolean) {
  const [, , samples] = ALL.find(([name]) => name === client)!
  const { path, rest, query } = samples.arrival?.('auto', stream) ?? {
    path: DIALECTS[client as keyof typeof DIALECTS].client.path,
    rest: '',
    query: '',
  }
  return get(`${path.replace('*', rest)}${query && `?${query}`}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: samples.request('auto', stream),
  })
}
