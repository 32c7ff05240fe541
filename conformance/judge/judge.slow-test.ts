// Runs the suite against the reference and against a must-fail gateway, and tests the verdicts and reports
// that follow from the evidence. Over 250 lines, because most tests read the evidence of these two runs.
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createMockProviders } from '../../mocks/server/create.ts'
import type { Check } from '../checks/check.ts'
import { CheckContext } from '../checks/context.ts'
import { checks } from '../checks/registry.ts'
import { chat } from '../dialects/chat.ts'
import { type Evidence, step } from '../evidence/evidence.ts'
import { type Conformed, conform } from '../runner/run.ts'
import { carryOut } from '../runner/worker.ts'
import { targetOf } from '../selftest/run.ts'
import { type Running, StartError } from '../target/instance.ts'
import { controlOf } from '../target/mock.ts'
import { bareTarget, readTarget } from '../target/read.ts'
import { targetSchema } from '../target/schema.ts'
import { EvidenceError, rejudge } from './rejudge.ts'
import { writeReports } from './write.ts'

const ONLY = [
  'ROUTE-01',
  'ROUTE-03',
  'TELL-01',
  'TELL-02',
  'TELL-05',
  'LOG-02',
  'USE-01',
  'FLOW-01',
  'FLOW-06',
  'KEEP-01',
  'KEEP-03',
  'CAT-01',
]
const HOSTILE = '<script>alert("waybill")</script>'
const reference = readTarget(new URL('../targets/waybill.inproc.yaml', import.meta.url).pathname)

const root = mkdtempSync(join(tmpdir(), 'waybill-judge-'))
const good = join(root, 'good')
const bad = join(root, 'bad')
let passed: Conformed
let failed: Conformed

before(async () => {
  passed = await conform({ target: reference, profile: 'waybill', only: ONLY, directory: good })
  const target = { ...targetOf('advertises'), name: HOSTILE }
  // Selects one check of each kind: failing, passing, not declared, left out.
  const { cache: _, ...capabilities } = target.capabilities
  failed = await conform({
    target: { ...target, capabilities },
    profile: 'waybill',
    only: ['TELL-05', 'CAT-01', 'USE-08'],
    disabled: { 'CAT-03': `nobody asked; ${HOSTILE}` },
    directory: bad,
    reproduce: `waybill conform ${HOSTILE}`,
  })
  writeReports(good, passed)
  writeReports(bad, failed)
})
after(() => rmSync(root, { recursive: true, force: true }))

const read = (...path: string[]): string => readFileSync(join(root, ...path), 'utf8')

test('with --only, the reference passes the requested checks, but the result is partial, never conformant (SUITE-02)', () => {
  const outcomes = passed.results.verdicts.filter(({ id }) => ONLY.includes(id))
  assert.deepEqual(
    outcomes.filter(({ outcome }) => outcome !== 'pass'),
    [],
  )
  assert.equal(outcomes.length, ONLY.length)
  assert.equal(passed.results.conclusion, 'partial')
  assert.equal(passed.results.counts.disabled, passed.results.verdicts.length - ONLY.length)
})

test('every inference that reaches the mock belongs to a check or is the first call of the preflight (SUITE-01)', () => {
  const { total, accounted } = passed.results.inferences
  assert.ok(total > 20)
  assert.equal(accounted, total)
  const [first, ...more] = passed.evidence.get('preflight')!.ledger
  assert.equal(first?.kind, 'inference')
  assert.deepEqual(more, [])
})

test('concurrent checks do not see each other’s calls (SUITE-01)', () => {
  const all = [...passed.evidence.values()]
  const beside = (one: Evidence) =>
    all.filter((other) => other.started_at < one.ended_at && other.ended_at > one.started_at)
  assert.ok(
    all.some((each) => beside(each).length > 1),
    'the reference is held to the contract by two instances',
  )
  for (const { check, exchanges, ledger } of all) {
    const own = JSON.stringify(exchanges)
    assert.deepEqual(
      ledger.filter(({ nonce }) => nonce !== null && !own.includes(nonce)),
      [],
      check,
    )
  }
})

test('an error in the suite itself ends the run without leaving processes or connections open', async () => {
  const origins: string[] = []
  const target = { ...reference, reset: [{ method: 'POST', path: '/no-such-endpoint', headers: {} }] }
  const onMock = ({ url }: { url: string }) => void origins.push(url)
  await assert.rejects(
    conform({ target, only: ['FLOW-03', 'FLOW-04', 'FLOW-07'], onMock }),
    (thrown) =>
      thrown instanceof StartError && /reset of waybill: POST \/no-such-endpoint: 401/.test(thrown.message),
  )
  await assert.rejects(fetch(origins[0]!))
})

test('the suite starts only one instance of a gateway that allows only one (SUITE-01)', () => {
  const { start: _, ...rest } = reference
  for (const more of [{ start: { url: 'http://127.0.0.1:1' } }, { start: reference.start, mock_port: 9410 }])
    assert.match(targetSchema.safeParse({ ...rest, ...more }).error!.message, /can have only one instance/)
})

test('judge writes the same report as the run, byte for byte (SUITE-03)', () => {
  for (const directory of ['good', 'bad'])
    assert.equal(
      `${JSON.stringify(rejudge(join(root, directory)).results, null, 2)}\n`,
      read(directory, 'results.json'),
    )
})

/** Changes the evidence of one check in a copy, and returns the new verdict on a requirement. */
function tampered(t: TestContext, check: string, change: (evidence: Evidence) => void, id = check) {
  const copy = mkdtempSync(join(root, 'copy-'))
  t.after(() => rmSync(copy, { recursive: true }))
  cpSync(good, copy, { recursive: true })
  const file = join(copy, 'evidence', `${check}.json`)
  const evidence = JSON.parse(readFileSync(file, 'utf8'))
  change(evidence)
  writeFileSync(file, JSON.stringify(evidence))
  return rejudge(copy).results.verdicts.find((verdict) => verdict.id === id)!
}

const CHANGES: readonly [what: string, check: string, change: (evidence: any) => void][] = [
  ['a ledger entry is removed', 'ROUTE-01', ({ ledger }) => ledger.pop()],
  ['a ledger entry names another model', 'ROUTE-01', ({ ledger }) => (ledger[0].model += 'x')],
  ['the status of an answer is changed', 'ROUTE-03', ({ exchanges }) => (exchanges[0].status = 200)],
  [
    'a letter is added to an answer',
    'TELL-05',
    ({ exchanges }) => (exchanges[0].body = exchanges[0].body.replace(/"content":\s*"/, '$&x')),
  ],
  [
    'a header of an answer is changed',
    'TELL-01',
    ({ exchanges }) => (exchanges[0].headers['x-gateway-provider'] = 'groqq'),
  ],
  [
    'a record is emptied',
    'LOG-02',
    ({ exchanges }) => (exchanges.find((each: any) => each.step === 'record').body = '{}'),
  ],
  [
    'a digit is added to the usage',
    'USE-01',
    ({ exchanges }) => (exchanges[0].body = exchanges[0].body.replace(/"prompt_tokens":\s*/, '$&1')),
  ],
  [
    'a broken stream has a normal end',
    'FLOW-06',
    ({ exchanges }) => {
      exchanges[0].end = 'complete'
      exchanges[0].body = exchanges[0].body.replaceAll('error', 'delta')
    },
  ],
  ['the ledger is emptied', 'KEEP-01', ({ ledger }) => (ledger.length = 0)],
  ['the ledger does not show that a provider cut its stream', 'FLOW-06', ({ ledger }) => (ledger.length = 0)],
  [
    'a secret is added to an answer',
    'KEEP-01',
    ({ exchanges }) => (exchanges[0].body += '[secret:key.client]'),
  ],
  [
    'an entry of the catalog is changed',
    'CAT-01',
    ({ exchanges }) => (exchanges[0].body = exchanges[0].body.replace('"auto"', '"auta"')),
  ],
]

for (const [what, check, change] of CHANGES)
  test(`judge notices altered evidence in ${check}: ${what} (SUITE-03)`, (t) => {
    const { outcome, reason } = tampered(t, check, change)
    assert.equal(outcome, 'fail', reason)
  })

test('evidence without exchanges never passes (SUITE-02)', (t) => {
  for (const id of ONLY) {
    const { outcome } = tampered(t, id, (evidence) => Object.assign(evidence, { exchanges: [], ledger: [] }))
    assert.notEqual(outcome, 'pass', id)
  }
})

test('a duplicate request id is detected even if the log has no endpoint for a single record (TELL-03)', async () => {
  const { one: _, ...log } = reference.observability.log!
  const target = { ...reference, observability: { ...reference.observability, log } }
  const { evidence, run } = await conform({ target, profile: 'observable', only: ['TELL-03'] })
  const found = evidence.get('TELL-03')!
  const outcome = () =>
    checks
      .get('TELL-03')!
      .judge({ evidence: found, all: new Map(), target: run.target, waybill: false })
      .every(({ ok }) => ok)
  assert.equal(outcome(), true)
  for (const exchange of found.exchanges.filter(({ step }) => step === 'record')) {
    const list = JSON.parse(exchange.body)
    exchange.body = JSON.stringify({ ...list, data: [...list.data, ...list.data] })
  }
  assert.equal(outcome(), false)
})

test('files from an earlier run in the same directory do not count as evidence (SUITE-03)', (t) => {
  const { outcome } = tampered(t, 'CAT-01', (evidence) => Object.assign(evidence, { started_at: 0 }))
  assert.equal(outcome, 'harness-error')
})

/** Runs a check that this test defines, with a mock that gets no calls. */
async function carriedOut(t: TestContext, own: Pick<Check, 'timeout' | 'exercise'>, more: object = {}) {
  const mock = await createMockProviders({})
  t.after(() => mock.close())
  const keys = { client: null, other: null, reader: null }
  const session = new CheckContext({
    check: 'OWN-01',
    target: { ...reference, ...more },
    dialect: chat,
    running: { baseUrl: mock.url, keys } as unknown as Running,
    mock: controlOf(mock),
    secrets: new Map(),
    another: () => Promise.reject(),
  })
  return carryOut({ ...own, id: 'OWN-01', judge: () => [] }, session)
}

test('if a target blocks an exercise, the target is untestable and the exercise makes no more calls', async (t) => {
  let asked = 0
  const { untestable, harness_error, exchanges } = await carriedOut(t, {
    timeout: 50,
    async exercise(session) {
      await sleep(100)
      asked++
      await session.ask(step('late'), '/v1/models')
      asked++
    },
  })
  await sleep(150)
  assert.match(untestable!, /within 50 ms/)
  assert.deepEqual([harness_error, exchanges, asked], [null, [], 1])
})

test('waits that the target file requires do not count towards the target’s time (SUITE-02)', async (t) => {
  const log = { ...reference.observability.log!, lag_ms: 1_000 }
  const { state: _, ...fields } = log.fields
  const more = {
    capabilities: { ...reference.capabilities, retry_delay_ms: 8_000 },
    observability: { headers: { request_id: 'x-id' }, log: { ...log, fields } },
  }
  const own: Pick<Check, 'timeout' | 'exercise'> = {
    timeout: 10_000, // the waits together take 12 s
    async exercise(session) {
      await session.wait(8_000)
      await session.drain()
      const call = await session.ask(step('call'), '/v1/models')
      for (let times = 0; times < 4; times++) await session.record({ ...call, headers: { 'x-id': '1' } })
    },
  }
  const { untestable, harness_error, exchanges } = await carriedOut(t, own, more)
  assert.deepEqual([untestable, harness_error, exchanges.length], [null, null, 5])
})

test('for a directory without a run, judge prints a one-line error', (t) => {
  const empty = mkdtempSync(join(root, 'empty-'))
  t.after(() => rmSync(empty, { recursive: true }))
  assert.throws(() => rejudge(empty), EvidenceError)
  cpSync(join(good, 'run.json'), join(empty, 'run.json'))
  assert.throws(() => rejudge(empty), /left no evidence/)
})

test('an untestable check counts as failed, and a skipped check never counts as passed (SUITE-02)', (t) => {
  const { outcome } = tampered(t, 'FLOW-06', (evidence) => Object.assign(evidence, { untestable: 'no way' }))
  assert.equal(outcome, 'untestable')
  const byOutcome = new Map(failed.results.verdicts.map((each) => [each.id, each.outcome]))
  assert.equal(byOutcome.get('TELL-05'), 'fail')
  assert.equal(byOutcome.get('CAT-01'), 'pass')
  assert.equal(byOutcome.get('USE-08'), 'not-applicable')
  assert.equal(byOutcome.get('CAT-03'), 'disabled')
  assert.equal(failed.results.conclusion, 'not conformant')
})

test('a check with a doubtful finding is untestable, unless another finding has failed (SUITE-02)', (t) => {
  const called = ({ exchanges }: Evidence, stream: boolean) =>
    exchanges.find(({ details }) => details.stream === stream)!
  const stays = (evidence: Evidence) => {
    const { nonce } = called(evidence, false)
    const [first] = evidence.ledger.filter((entry) => entry.nonce === nonce)
    evidence.ledger.splice(evidence.ledger.indexOf(first!), 1)
  }
  const { outcome, reason } = tampered(t, 'TELL-02', stays)
  assert.deepEqual([outcome, reason], ['untestable', 'call: it was not answered after a fallback'])
  const both = tampered(t, 'TELL-02', (evidence) => {
    stays(evidence)
    called(evidence, true).headers = {}
  })
  assert.equal(both.outcome, 'fail')
})

test('if the gateway dies during a check, the check is untestable, unless one of its findings had already failed (SUITE-02)', (t) => {
  const gone = (evidence: Evidence) => Object.assign(evidence.facts, { gone: 'it ended.' })
  const { outcome, reason } = tampered(t, 'KEEP-01', gone)
  assert.deepEqual([outcome, reason], ['untestable', 'it did not survive the check: it ended.'])
  const both = tampered(t, 'FLOW-06', (evidence) => {
    gone(evidence)
    Object.assign(evidence.exchanges[0]!, { end: 'complete', body: '' })
  })
  assert.equal(both.outcome, 'fail')
})

test('a run without checks is an error (SUITE-02)', async () => {
  const { cache: _, ...capabilities } = reference.capabilities
  const { results } = await conform({
    target: { ...reference, capabilities },
    profile: 'waybill',
    only: ['USE-08'],
  })
  assert.equal(results.conclusion, 'error')
  assert.match(results.reason, /no check was run/)
})

test('a target gets only one call if its calls do not reach the mock (SUITE-01)', async (t) => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    if (request.method === 'POST') asked.push(request.url!)
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  const target = bareTarget(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'gpt-5-mini', {})
  await assert.rejects(
    conform({ target }),
    (thrown) => thrown instanceof StartError && /no second call was made/.test(thrown.message),
  )
  assert.deepEqual(asked, ['/v1/chat/completions'])
  // A bare address only claims that it accepts this model.
  assert.deepEqual([target.models.direct, target.models.logical], [[], []])
})

test('results.json matches its published schema', () => {
  const published = JSON.parse(
    readFileSync(new URL('../../docs/results.schema.json', import.meta.url), 'utf8'),
  )
  const schema = z.fromJSONSchema(published)
  for (const directory of ['good', 'bad']) schema.parse(JSON.parse(read(directory, 'results.json')))
  const { verdicts: _, ...without } = JSON.parse(read('good', 'results.json'))
  assert.throws(() => schema.parse(without))
})

test('a finding has the same id in every run', () => {
  for (const { results } of [passed, failed])
    for (const { id, findings } of results.verdicts)
      for (const finding of findings) assert.match(finding.id, new RegExp(`^${id}/[a-z0-9][a-z0-9-]*$`))
  const ids = ({ results }: Conformed) =>
    new Set(results.verdicts.find(({ id }) => id === 'TELL-05')!.findings.map(({ id }) => id))
  assert.deepEqual(ids(passed), ids(failed), 'whether it holds or not')
})

test('every finding, passed or failed, has an expected and an actual value', () => {
  const found = [...passed.results.verdicts, ...failed.results.verdicts].flatMap(({ findings }) => findings)
  const silent = found.filter(({ doubt, expected, actual }) => !doubt && !(expected && actual))
  assert.ok(found.length > 100)
  assert.deepEqual(
    silent.map(({ id }) => id),
    [],
  )
})

test('junit.xml has a child element for every result that did not pass', () => {
  const xml = read('bad', 'junit.xml')
  const cases = [...xml.matchAll(/<testcase .*?(?:\/>|<\/testcase>)/gs)].map(([text]) => text)
  assert.ok(cases.length > failed.results.verdicts.length, 'one for each finding')
  const of = (id: string) => cases.find((each) => each.includes(` name="${id}`))!
  assert.match(of('TELL-05'), /<failure message="[^"]*: expected as the provider sent it: [^"]*, seen /)
  assert.match(of('USE-08'), /<skipped /)
  assert.match(of('CAT-03'), /<skipped /)
  assert.match(of('TELL-05'), / name="TELL-05\/content-is-untouched"/)
  assert.match(of('CAT-01/has-entries'), /^<testcase [^<]*\/>$/)
  assert.match(xml, /<testsuite [^>]* failures="1"/)
})

test('junit.xml reports a failure of the suite itself as an error, never as a pass', (t) => {
  const copy = mkdtempSync(join(root, 'broken-'))
  t.after(() => rmSync(copy, { recursive: true }))
  cpSync(good, copy, { recursive: true })
  const file = join(copy, 'evidence', 'CAT-01.json')
  writeFileSync(
    file,
    JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), harness_error: 'it fell over' }),
  )
  const kept = rejudge(copy)
  assert.equal(kept.results.conclusion, 'error')
  writeReports(copy, kept)
  const xml = readFileSync(join(copy, 'junit.xml'), 'utf8')
  assert.match(xml, /<testcase [^>]* name="CAT-01[^>]*>\s*<error message="it fell over"/)
})

test('the page says which side ended a connection, even if the mock ended it for a check (FLOW-06)', () => {
  const page = read('good', 'index.html')
  assert.match(page, /not to the end; the mock cut the connection, as the check told it to/)
  assert.doesNotMatch(page, /the gateway closed the connection/)
})

test('no report contains a hostile name as markup', () => {
  const page = read('bad', 'index.html')
  assert.equal(page.split('<script').length - 1, 0)
  assert.ok(page.includes('&#60;script&#62;alert'))
  const outsideCode = read('bad', 'summary.md').replace(/`[^`]*`/g, '')
  assert.ok(outsideCode.includes('&#60;script') && !outsideCode.includes('<script'))
  assert.ok(!read('bad', 'junit.xml').includes('<script'))
})

test('no file that a run writes contains a secret (KEEP-01)', () => {
  const names = ['run.json', 'results.json', 'junit.xml', 'index.html', 'summary.md', 'badge.json']
  for (const directory of ['good', 'bad'])
    for (const name of [
      ...names,
      ...ONLY.map((id) => join('evidence', `${id}.json`)).filter(() => directory === 'good'),
    ]) {
      const text = read(directory, name)
      assert.ok(
        !/wbconform(client|other|admin)[0-9a-f]{24}/.test(text),
        `${directory}/${name} holds a gateway key`,
      )
      assert.ok(!/mock-key-of-[a-z]/.test(text), `${directory}/${name} holds a provider key`)
    }
})
