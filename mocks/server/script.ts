// Scripts: answers to calls with or without a nonce, the format of `PUT /script/{nonce}` and `POST /answers`,
// and the choice of the next answer. Independent of servers.
import { type ZodError, z } from 'zod'
import { whenAborted } from '../answer.ts'
import type { RequestKind } from '../ledger.ts'
import { conversationOf, holds, type Part, predicateSchema } from '../matching/conversation.ts'
import { fieldOf } from './validate.ts'

/** Step of an explicit stream. */
const step = z.union(
  [
    z
      .strictObject({ data: z.unknown() })
      .describe('One event, `data: …` and a blank line; text is sent as it is, anything else as JSON.'),
    z.strictObject({ raw: z.string() }).describe('Bytes as they are, UTF-8.'),
    z
      .strictObject({ base64: z.string() })
      .describe('Bytes as they are; one write, so that a boundary can be put anywhere.'),
    z
      .strictObject({ said: z.string().min(1) })
      .describe(
        'A piece of text in the client’s dialect. The first piece is sent after the dialect’s opening events.',
      ),
    z.strictObject({ ending: z.literal(true) }).describe('The end of an answer in the client’s dialect.'),
    z
      .strictObject({ failure: z.string() })
      .describe('An event that reports an error in the client’s dialect.'),
    z.strictObject({ gate: z.string().min(1) }).describe('A hold until `POST /release/{gate}`.'),
    z.strictObject({ wait: z.number().nonnegative() }).describe('A pause in ms.'),
    z
      .strictObject({ end: z.enum(['cut', 'reset']) })
      .describe('Ends the connection: in the middle of the body, or with RST.'),
  ],
  'expected one of data, raw, base64, said, ending, failure, gate, wait, end',
)

/** Output of the model; if a turn calls tools, the calls come last. */
const said = z.strictObject({
  reasoning: z.string().optional(),
  text: z.string().optional(),
  calls: z
    .array(
      z.strictObject({
        /** Default: a different id for each call. */
        id: z.string().min(1).optional(),
        /** Default: the first tool that the request offers. */
        name: z.string().min(1).optional(),
        /** Default: made from the schema of the tool that the request offers under this name. */
        arguments: z.record(z.string(), z.unknown()).optional(),
      }),
    )
    .default([]),
})

const count = z.int().nonnegative()

/**
 * Usage to report with `say`, in the dialect of the request; a dialect leaves out counts for which it has no
 * field.
 */
const usage = z.strictObject({
  input: count,
  output: count,
  cached: count.default(0),
  reasoning: count.default(0),
  written: count.optional(),
  written_1h: count.optional(),
  tier: z.string().optional(),
  speed: z.string().optional(),
  region: z.string().optional(),
  searches: count.optional(),
  compaction: z.strictObject({ input: count, output: count }).optional(),
  cost: z.number().nonnegative().optional(),
})

/** Parts of a call that the `when` of a script can examine. */
interface ScriptedCall {
  readonly provider: string
  readonly model: string | null
  readonly kind: RequestKind
  /** False for a path that the provider's mock does not know; its purpose is then unknown, too. */
  readonly isKnown: boolean
  /** Body as JSON; undefined if it is not JSON. */
  readonly body: unknown
  /** Texts, calls and results of the conversation, in order. */
  readonly parts: readonly Part[]
}

type CallTest = (call: ScriptedCall) => boolean

const TIMES = 'takes a whole number from 1 on, or "every"'

const answerSchema = z.strictObject({
  /** Answers only calls that meet this condition; within a process, it can be a function of the call. */
  when: z.union([z.custom<CallTest>((value) => typeof value === 'function'), predicateSchema]).optional(),
  /** Answers only requests to this provider or for this model; other requests use the next answer that fits. */
  provider: z.string().optional(),
  model: z.string().optional(),
  /** Answers only requests of this kind; default: inferences, and requests to unknown paths. */
  kind: z.enum(['inference', 'token_count', 'metadata']).optional(),
  /** Name of a scenario; default `plain`. */
  scenario: z.string().optional(),
  /** True if unknown top-level fields are refused, as the provider does, instead of only noted. */
  strict: z.boolean().default(false),
  /** Output that replaces the scenario, whole or streamed, in the dialect of the request. */
  say: said.optional(),
  /** Usage to report with the output. */
  usage: usage.optional(),
  /** Model that the output names, if it is not the requested one. */
  served: z.string().optional(),
  /** Explicit whole answer (text unchanged, anything else as JSON) … */
  status: z.int().min(200).max(599).optional(),
  headers: z
    .record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/), z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/))
    .optional(),
  body: z.unknown().optional(),
  /** Message of an error in this provider's format, instead of `body`. */
  refusal: z.string().optional(),
  /** … or explicit stream. */
  events: z.array(step).optional(),
  /** Pause in ms before the status and everything else. */
  wait: z.number().nonnegative().optional(),
  /**
   * Number of requests that this answer serves before the next one takes over, or `every`. The last answer
   * for a nonce has no limit.
   */
  times: z.union([z.int().min(1, TIMES), z.literal('every')], TIMES).default(1),
  /**
   * Binds the answer to the provider and model of the first request that it answered: it answers later
   * requests only if they have the same provider and model.
   */
  same_target: z.boolean().default(false),
})

/** Answers for the attempts of one call, in order. */
const scriptSchema = z.array(answerSchema, 'takes a list of answers').min(1, 'needs at least one answer')

/** Error about an invalid script: each problem with its field. */
export class ScriptError extends Error {
  constructor({ issues }: ZodError) {
    super(issues.map((issue) => `${fieldOf(issue.path) || 'the script'}: ${wordIssue(issue)}`).join('; '))
  }
}

function parseScript(script: unknown): Turn[] {
  const { data, error } = scriptSchema.safeParse(script, { reportInput: true })
  if (error) throw new ScriptError(error)
  return data.map((answer) => ({ answer, used: 0, target: null }))
}

/** Parses an answer that does not come from a user. */
export const parseAnswer = (answer: ScriptedAnswer): ParsedAnswer => answerSchema.parse(answer)

const TYPE_WORDS: Readonly<Record<string, string>> = {
  record: 'an object such as {"city": "Bern"}',
  object: 'an object',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
}

function wordIssue(issue: ZodError['issues'][number]): string {
  if (issue.code === 'unrecognized_keys') {
    const names = issue.keys.map((name) => JSON.stringify(name)).join(', ')
    const known = issue.path.length === 1 ? `; known are ${Object.keys(answerSchema.shape).join(', ')}` : ''
    return `${names} is not known here${known}`
  }
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input')) {
    if (issue.input === undefined) return 'is missing'
    const given = Array.isArray(issue.input) ? 'array' : issue.input === null ? 'null' : typeof issue.input
    return `takes ${TYPE_WORDS[issue.expected] ?? issue.expected}, not ${TYPE_WORDS[given]?.replace(/ such as .*/, '') ?? given}`
  }
  return issue.message.replace(/^[A-Z](?=[a-z])/, (first) => first.toLowerCase())
}

export type ScriptStep = z.input<typeof step>
export type ScriptedAnswer = z.input<typeof answerSchema>
export type ParsedAnswer = z.output<typeof answerSchema>

export interface Scripts {
  /** Replaces the script of this nonce. Throws a ScriptError if it is invalid. */
  put(nonce: string, script: unknown): void
  /** Adds answers for calls without a nonce. Throws a ScriptError if an answer is invalid. */
  add(answers: unknown): void
  /** Returns the answer of this turn and uses it up; null if no script fits the call. */
  next(nonce: string | null, call: Omit<ScriptedCall, 'parts'>): ParsedAnswer | null
  clear(): void
}

/** Answer with its state so far. */
interface Turn {
  readonly answer: ParsedAnswer
  used: number
  /** Provider and model to which the answer is bound; null while it is not bound. */
  target: string | null
}

export function createScripts(): Scripts {
  const scripts = new Map<string, Turn[]>()
  let open: Turn[] = []
  return {
    put: (nonce, script) => void scripts.set(nonce, parseScript(script)),
    add(answers) {
      open.push(...parseScript(Array.isArray(answers) ? answers : [answers]))
    },
    next(nonce, call) {
      const asked = JSON.stringify([call.provider, call.model])
      const isFitting = fitting(call, asked)
      let turn: Turn | undefined
      try {
        const own = nonce === null ? [] : (scripts.get(nonce) ?? []).filter(isFitting)
        turn = own.find(isDue) ?? own.at(-1) ?? dueOf(open.filter(isFitting))
      } catch (error) {
        return failed(error as Error) // a function of the user
      }
      if (!turn) return null
      turn.used++
      if (turn.answer.same_target) turn.target = asked
      return turn.answer
    },
    clear() {
      scripts.clear()
      open = []
    },
  }
}

const failed = ({ message }: Error): ParsedAnswer =>
  answerSchema.parse({
    status: 400,
    body: {
      error: {
        message: `The function "when" of a script failed: ${message}. Correct it.`,
        type: 'script_error',
        param: null,
        code: 'script_error',
      },
    },
  })

/** Returns a predicate that is true for answers meant for this call. */
function fitting(call: Omit<ScriptedCall, 'parts'>, asked: string): (turn: Turn) => boolean {
  let parts: readonly Part[] | undefined
  const read = (): ScriptedCall => {
    parts ??= conversationOf(call.body)?.parts ?? []
    return { ...call, parts }
  }
  return ({ answer, target }) =>
    (answer.provider === undefined || answer.provider === call.provider) &&
    (answer.model === undefined || answer.model === call.model) &&
    (answer.kind === undefined ? call.kind === 'inference' || !call.isKnown : answer.kind === call.kind) &&
    (target === null || target === asked) &&
    (answer.when === undefined ||
      (typeof answer.when === 'function' ? answer.when(read()) : holds(answer.when, read())))
}

const isDue = ({ answer: { times }, used, target }: Turn): boolean =>
  target !== null || times === 'every' || used < times

/** Picks from the answers without a nonce: first those with a limit, in order, then the latest for every call. */
const dueOf = (turns: readonly Turn[]): Turn | undefined =>
  turns.find((turn) => turn.answer.times !== 'every' && isDue(turn)) ??
  turns.findLast(({ answer }) => answer.times === 'every')

export interface Gates {
  /** Resolves when the gate is open, or when `gone` is aborted. */
  wait(name: string, gone: AbortSignal): Promise<void>
  /** Opens a gate, which then stays open. No answer needs to be waiting at it. */
  release(name: string): void
  /** Releases all waiting answers, and closes every gate again. */
  clear(): void
}

export function createGates(): Gates {
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const at = (name: string): PromiseWithResolvers<void> => {
    const gate = gates.get(name) ?? Promise.withResolvers<void>()
    gates.set(name, gate)
    return gate
  }
  return {
    wait: (name, gone) => Promise.race([at(name).promise, whenAborted(gone)]),
    release: (name) => at(name).resolve(),
    clear() {
      for (const { resolve } of gates.values()) resolve()
      gates.clear()
    },
  }
}
