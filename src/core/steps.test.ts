// What is new in each step of a session, whose agent it belongs to, and why it cost what it cost.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  dearestSteps,
  firstDifference,
  lasted,
  type StepBody,
  type StepCall,
  type StepPart,
  sessionSteps,
} from './steps.ts'

/** Parts in short: `u`ser, `s`ystem, `a`ssistant, `c`all and `r`esult, each with its text. */
const ROLES: Record<string, readonly [role: string, kind: string]> = {
  u: ['user', 'text'],
  s: ['system', 'text'],
  a: ['assistant', 'text'],
  c: ['assistant', 'call'],
  r: ['tool', 'result'],
}
const parts = (text: string): StepPart[] =>
  text.split(' ').flatMap((word) => {
    const [role, kind] = ROLES[word[0] ?? ''] ?? []
    return role === undefined ? [] : [{ role, kind: kind!, name: null, text: word.slice(1) }]
  })
const short = (list: readonly StepPart[]) =>
  list.map(({ kind, role, text }) => (kind === 'text' ? role[0] : kind[0]) + text).join(' ')

type More = Partial<StepCall> & {
  readonly said?: string
  readonly answered?: string
  readonly continues?: string
}
let clock = 0
function call({
  said: _,
  answered: __,
  continues: ___,
  ...more
}: More): StepCall & { requested_model: string } {
  clock += 1_000
  const at = new Date(clock).toISOString()
  return {
    ...{ id: at, created_at: at, completed_at: at, state: 'completed', purpose: 'main', agent_id: null },
    ...{
      resolved_provider: 'p',
      resolved_model: 'm',
      requested_model: 'm',
      response_id: null,
      price: null,
      attempts: 1,
    },
    tokens: {
      source: 'reported',
      input: 10,
      output: 1,
      cached_input: null,
      cache_write: null,
      reasoning: null,
    },
    cost_usd: 0.01,
    ...more,
  }
}
function steps(...calls: More[]) {
  const add = sessionSteps<ReturnType<typeof call>>()
  return calls.map((each) => {
    const { said, answered = '', continues = null } = each
    const body: StepBody | null =
      said === undefined ? null : { input: parts(said), output: parts(answered), continues }
    return add(call(each), body)
  })
}
const tokens = (input: number, cached_input: number, output = 1, cache_write = 0) => ({
  tokens: { source: 'reported', input, output, cached_input, cache_write, reasoning: null } as const,
})

const CASES: Record<
  string,
  readonly [calls: More[], last: Partial<ReturnType<typeof steps>[number]> & { short: string }]
> = {
  'a first step is new as a whole': [[{ said: 's1 uhi' }], { after: null, same: 0, short: 's1 uhi' }],
  'a turn adds what follows the common beginning': [
    [{ said: 's1 uhi' }, { said: 's1 uhi ahello umore' }],
    { after: 1, same: 2, gone: 0, resent: 0, short: 'ahello umore' },
  ],
  'the answer of the step before is not new': [
    [{ said: 'ua', answered: 'ab' }, { said: 'ua ab uc' }],
    { after: 1, same: 1, gone: 0, resent: 0, short: 'uc' },
  ],
  'an equal request has nothing new': [
    [{ said: 's1 uhi' }, { said: 's1 uhi' }],
    { after: 1, same: 2, short: '' },
  ],
  'a system text that changes each time does not hide the conversation': [
    [{ said: 's1 s2 uhi' }, { said: 's1 s3 uhi ahello' }],
    { after: 1, same: 2, gone: 1, resent: 0, short: 's3 ahello' },
  ],
  'a part that is put in the middle is new, and what follows is resent': [
    [{ said: 'ua ab uc' }, { said: 'ua uNEW ab uc ad' }],
    { after: 1, same: 1, gone: 0, resent: 2, short: 'uNEW ad' },
  ],
  'a rewound conversation continues the step from which it goes on': [
    [{ said: 'ua' }, { said: 'ua ab uc' }, { said: 'ua ab uc ad ue' }, { said: 'ua ab uX' }],
    { after: 3, same: 2, gone: 3, resent: 0, short: 'uX' },
  ],
  'a compacted conversation says how much is gone': [
    [{ said: 's1 ua ab uc ad' }, { said: 's1 uSUMMARY' }],
    { after: 1, same: 1, gone: 4, short: 'uSUMMARY' },
  ],
  'a background call begins its own conversation': [
    [{ said: 'ua' }, { said: 'uTITLE', purpose: 'background' }],
    { after: null, short: 'uTITLE' },
  ],
  'a background call between two turns is not in their conversation': [
    [{ said: 'ua' }, { said: 'uTITLE', purpose: 'background' }, { said: 'ua ab' }],
    { after: 1, same: 1, short: 'ab' },
  ],
  'an agent stands under the call with its task': [
    [
      { said: 'ua', answered: 'clook-for-tests' },
      { said: 'ua clook-for-tests uother' },
      { said: 'ulook-for-tests', agent_id: 'x', purpose: 'subagent' },
    ],
    { depth: 1, startedBy: 1, after: null, short: 'ulook-for-tests' },
  ],
  'an agent without a task stands under the last step that had ended': [
    [{ said: 'ua' }, { agent_id: 'x', purpose: 'subagent' }, { agent_id: 'y', purpose: 'subagent' }],
    { depth: 1, startedBy: 1, after: null, short: '' },
  ],
  'an agent of an agent is a level deeper': [
    [
      { said: 'ua', answered: 'cfirst-task' },
      { said: 'ufirst-task', agent_id: 'x', answered: 'csecond-task' },
      { said: 'usecond-task', agent_id: 'y' },
    ],
    { depth: 2, startedBy: 2, short: 'usecond-task' },
  ],
  'a session of agents only has no level above them': [
    [{ said: 'ua', purpose: 'subagent' }],
    { depth: 0, short: 'ua' },
  ],
  'a request that continues a stored answer is new as a whole, and nothing is gone': [
    [
      { said: 'ua', response_id: 'r1' },
      { said: 'uc', continues: 'r1' },
    ],
    { after: 1, gone: 0, short: 'uc' },
  ],
  'without bodies a step follows the last one of its agent and purpose': [
    [{}, { purpose: 'background' }, {}],
    { after: 1, isKept: false, short: '' },
  ],
  'a kept step after one that is not kept is new as a whole': [
    [{}, { said: 'ua' }],
    { after: 1, same: 0, gone: 0, short: 'ua' },
  ],
}
for (const [title, [calls, { short: added, ...expected }]] of Object.entries(CASES))
  test(title, () => {
    const last = steps(...calls).at(-1)!
    const found = Object.fromEntries(
      Object.keys(expected).map((name) => [name, last[name as keyof typeof last]]),
    )
    assert.deepEqual({ ...found, added: short(last.added) }, { ...expected, added })
  })

test('the first step of a branch shows what is new after the call that it branches off', () => {
  const body = (said: string, answered = '') => ({ input: parts(said), output: parts(answered) })
  const add = sessionSteps<ReturnType<typeof call>>({
    call: call({ agent_id: 'x' }),
    body: body('s1 ua', 'ab'),
  })
  const first = add(call({}), body('s1 ua ab uc', 'ad'))
  assert.deepEqual([first.n, first.after, short(first.added)], [1, 0, 'uc'])
  const second = add(call({}), body('s1 ua ab uc ad ue'))
  assert.deepEqual([second.n, second.after, short(second.added)], [2, 1, 'ue'])
})

const at = (ms: number) => ({
  created_at: new Date(ms).toISOString(),
  completed_at: new Date(ms).toISOString(),
})
const REASONS: Record<string, readonly [calls: More[], reason: RegExp]> = {
  'new input': [[{ ...tokens(9_000, 0) }], /^9\.0k tokens of new input: it begins a conversation$/],
  output: [[{ ...tokens(10, 0, 900) }], /^900 tokens of output$/],
  'cached input': [
    [{ ...tokens(9_000, 0) }, { ...tokens(90_000, 89_000) }],
    /^89\.0k tokens of cached input/,
  ],
  'an old cache': [
    [
      { ...at(0), ...tokens(9_000, 0, 1, 9_000) },
      { ...at(720_000), ...tokens(9_500, 0) },
    ],
    /^9\.5k tokens of new input: the cache was lost 12 min after step 1, probably by its age$/,
  ],
  'another target': [
    [
      { ...at(0), ...tokens(9_000, 8_000) },
      { ...at(1), ...tokens(9_500, 0), resolved_model: 'n' },
    ],
    /because step 1 went to p\/m$/,
  ],
  'a change before cached parts': [
    [
      { ...at(0), said: 'ua ab uc', ...tokens(9_000, 8_000) },
      { ...at(1), said: 'ua uNEW ab uc', ...tokens(9_500, 0) },
    ],
    /because the conversation changed before 2 parts that step 1 has as well$/,
  ],
  'no cache at all': [[{ ...tokens(9_000, 0) }, { ...tokens(9_500, 0) }], /^9\.5k tokens of new input$/],
  attempts: [[{ ...tokens(10, 0, 900), attempts: 2 }], /, in 2 attempts$/],
  'no tokens': [
    [{ tokens: { ...tokens(1, 1).tokens, input: null, output: null } }],
    /^no tokens were reported$/,
  ],
}
for (const [title, [calls, reason]] of Object.entries(REASONS))
  test(`a dear step names its reason: ${title}`, () => {
    const read = steps(...calls.map((each, i) => ({ cost_usd: i + 1, ...each })))
    assert.match(dearestSteps(read)[0]!.reason, reason)
  })

test('the dearest steps are few, in order of their cost, and none of them cost nothing', () => {
  const read = steps(...[0.1, 0.4, null, 0.2, 0, 0.3].map((cost_usd) => ({ cost_usd })))
  assert.deepEqual(
    dearestSteps(read).map(({ step }) => step.n),
    [2, 6, 4],
  )
})

const DIFFERENCES: Record<
  string,
  readonly [a: More[], b: More[], at: readonly [a: number | null, b: number | null, by: string] | null]
> = {
  'equal sessions': [[{ said: 'ua', answered: 'ab' }], [{ said: 'ua', answered: 'ab' }], null],
  'another answer': [
    [{ said: 'ua', answered: 'ab' }, { said: 'ua ab uc' }],
    [{ said: 'ua', answered: 'aX' }, { said: 'ua aX uc' }],
    [1, 1, 'output'],
  ],
  'another question': [
    [{ said: 'ua' }, { said: 'ua ab' }],
    [{ said: 'ua' }, { said: 'ua aX' }],
    [2, 2, 'input'],
  ],
  'a longer session': [[{ said: 'ua' }], [{ said: 'ua' }, { said: 'ua ab' }], [null, 2, 'end']],
  'agents in another order': [
    [{ said: 'ua' }, { said: 'uone', agent_id: 'x' }, { said: 'utwo', agent_id: 'y' }],
    [{ said: 'ua' }, { said: 'utwo', agent_id: 'v' }, { said: 'uone', agent_id: 'w' }],
    null,
  ],
  'a background call that came later': [
    [{ said: 'uTITLE', purpose: 'background' }, { said: 'ua' }, { said: 'ua ab' }],
    [{ said: 'ua' }, { said: 'uTITLE', purpose: 'background' }, { said: 'ua aX' }],
    [3, 3, 'input'],
  ],
  'records only': [
    [{}, { ...tokens(5, 0) }],
    [{}, { ...tokens(6, 0) }],
    [2, 2, 'record'],
  ],
  'an empty session': [[], [{ said: 'ua' }], [null, 1, 'end']],
}
for (const [title, [a, b, expected]] of Object.entries(DIFFERENCES))
  test(`the first difference is found: ${title}`, () => {
    const found = firstDifference(steps(...a), steps(...b))
    assert.deepEqual(found && [found.a?.n ?? null, found.b?.n ?? null, found.by], expected)
  })

test('a session lasts until the end of the call that ends last', () => {
  const at = (second: number) => `2026-11-29T10:00:${String(second).padStart(2, '0')}.000Z`
  const last = (...ends: (number | null)[]) =>
    lasted(
      at(0),
      at(5),
      ends.map((end) => ({ completed_at: end === null ? null : at(end) })),
    )
  assert.equal(last(20, 9), 20_000)
  assert.equal(last(2, null), 5_000)
  assert.equal(last(), 5_000)
})
