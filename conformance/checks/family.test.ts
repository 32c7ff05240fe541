import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Exchange, type Step, step } from '../evidence/evidence.ts'
import { entry, evidence, exchange } from '../evidence/test-evidence.ts'
import { bareTarget } from '../target/read.ts'
import {
  callEach,
  declared,
  each,
  everything,
  type Finding,
  family,
  type Told,
  thenCoolDown,
} from './check.ts'
import type { ChatOptions, CheckContext } from './context.ts'

const call = step<{ model: string; stream: boolean }>('call')
const target = bareTarget('http://127.0.0.1:1', 'auto', {})
const request = entry()
const over = evidence([exchange({ n: 3, details: { model: 'm', stream: true } })], [request])
const check = family({ needs: ['messages'], dialect: 'messages' })
const judging = { evidence: over, all: new Map(), target, waybill: false }

/** Returns the findings of a check with this judge. */
function found(judge: Parameters<typeof check>[1]['judge']): Finding[] {
  check('X-01', { judge })
  return declared.pop()!.judge(judging)
}

const see = ['#3', `@${request.n}`]

test('a comparison becomes a finding, with the exchange and its request as evidence', () => {
  const judge = each(
    call,
    ({ details, quoted, crossed }): Told => ({
      one: [details.stream, `the end of ${quoted}`, 'an end', 'none'],
      own: [crossed, 'another', 'so', 'not so', ['@7']],
      left_out: false,
    }),
  )
  const what = 'the end of "call (model m, streamed)"'
  assert.deepEqual(found(judge), [
    { id: 'one', ok: true, what, expected: 'an end', actual: 'none', see },
    { id: 'own', ok: false, what: 'another', expected: 'so', actual: 'not so', see: ['@7'] },
  ])
})

test('a judge may advise, doubt, find a feature absent, or return findings of its own', () => {
  const own = { id: 'own', ok: true, what: 'it' }
  const judge = each(
    everything,
    (): Told => [
      { advised: { advice: [false, 'a', 'b', 'c'] }, open: { doubt: 'Who knows?' } },
      [own, { missing: { absent: 'There is none.' } }],
    ],
  )
  assert.deepEqual(found([judge, () => own]), [
    { id: 'advised', ok: false, what: 'a', expected: 'b', actual: 'c', see, advice: true },
    { id: 'open', ok: false, doubt: true, what: 'Who knows?', see },
    own,
    { id: 'missing', ok: false, absent: true, what: 'There is none.', see },
    own,
  ])
})

test('a check has the properties of its family unless it has its own', () => {
  check('X-02', { needs: ['log'], judge: () => [] })
  const { id, needs, dialect, exercise } = declared.pop()!
  assert.deepEqual(
    { id, needs, dialect, exercise },
    { id: 'X-02', needs: ['log'], dialect: 'messages', exercise: undefined },
  )
})

test('a check that is declared twice is an error', () => {
  check('X-03', { judge: () => [] })
  assert.throws(() => check('X-03', { judge: () => [] }), /X-03 is declared twice/)
  declared.pop()
})

test('an exercise makes a call for each combination of values, and waits if a target must cool down', async () => {
  const made: unknown[] = []
  const session = {
    target,
    chat: async (at: Step, options: ChatOptions) => {
      made.push([at.details, options])
      return {} as Exchange
    },
    wait: async (ms: number) => void made.push(ms),
  } as unknown as CheckContext
  const models = () => ['a', 'b']
  await callEach(call, { model: models, stream: [false, true] }, ({ stream }) => ({ stream }))(session)
  assert.deepEqual(
    made,
    ['a', 'b'].flatMap((model) => [false, true].map((stream) => [{ model, stream }, { stream }])),
  )
  made.length = 0
  await callEach(call, { model: ['a'], stream: [true] }, () => ({}), thenCoolDown(60_000))(session)
  assert.deepEqual(made, [[{ model: 'a', stream: true }, {}], 60_000])
})
