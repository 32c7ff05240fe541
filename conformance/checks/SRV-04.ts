// SRV-04: Whole answers report the tokens of the input and of the output. Streams report them if usage was
// requested. The output is within its limit, the total is the sum, and a longer prompt has more tokens.
import { ref } from '../dialects/lookup.ts'
import type { Details, Exchange } from '../evidence/evidence.ts'
import { step } from '../evidence/step.ts'
import { type Check, type Finding, finding } from '../runner/check.ts'
import { ANSWER_TIMEOUT_MS, answered, FEW_TOKENS, isTokenCount, small, usageCounts } from './server.ts'

const call = step<{ stream: boolean; long: boolean }>('call')

/** Words that must increase the number of tokens on every server. */
const MANY_WORDS = Array.from({ length: 60 }, (_, index) => `Item ${index + 100} is here.`).join(' ')

export const usageIsCounted = {
  id: 'SRV-04',
  async exercise(session) {
    for (const [stream, long] of [
      [false, false],
      [true, false],
      [false, true],
    ] as const)
      await session.chat(call.with({ stream, long }), {
        stream,
        body: small(session, stream),
        timeout: ANSWER_TIMEOUT_MS,
        ...(long && { prompt: MANY_WORDS }),
      })
  },
  judge({ evidence }) {
    const calls = call.in(evidence)
    const good = calls.filter(({ status }) => status === 200)
    const [short, long] = [false, true].map((wanted) =>
      good.find(({ details }) => !details.stream && details.long === wanted),
    )
    return [
      ...calls.flatMap((exchange) => [answered(exchange, nameOf(exchange)), ...countFindings(exchange)]),
      ...(short && long ? [grows(short, long)] : []),
    ]
  },
} satisfies Check

const nameOf = ({ details }: { readonly details: Details }): string =>
  `a ${details.stream ? 'streamed' : 'whole'} call with a ${details.long ? 'long' : 'short'} prompt`

function countFindings(exchange: Exchange): Finding[] {
  const counts = usageCounts(exchange)
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = counts ?? {}
  const actual = counts === null ? 'no usage' : JSON.stringify(counts)
  const see = [ref(exchange)]
  return [
    finding(
      'has-counts',
      isTokenCount(input) && input > 0 && isTokenCount(output),
      `usage of ${nameOf(exchange)}`,
      { expected: 'tokens of the input, at least one, and of the output', actual },
      see,
    ),
    finding(
      'output-is-within-its-limit',
      !isTokenCount(output) || output <= FEW_TOKENS,
      `tokens of the output of ${nameOf(exchange)}`,
      { expected: `at most ${FEW_TOKENS}, as asked`, actual: String(output) },
      see,
    ),
    finding(
      'total-is-the-sum',
      total === undefined || !isTokenCount(input) || !isTokenCount(output) || total === input + output,
      `the total in usage of ${nameOf(exchange)}`,
      { expected: 'the sum of both', actual },
      see,
    ),
  ]
}

function grows(short: Exchange, long: Exchange): Finding {
  const [less, more] = [short, long].map((exchange) => usageCounts(exchange)?.prompt_tokens)
  return finding(
    'input-grows-with-the-prompt',
    isTokenCount(less) && isTokenCount(more) && more > less,
    'tokens of the input of a short and of a long prompt',
    { expected: 'more for the long one', actual: `${less} and ${more}` },
    [ref(short), ref(long)],
  )
}
