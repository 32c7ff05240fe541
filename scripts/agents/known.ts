// `npm run agents -- known`: each agent requests three models that it knows by name, from a provider of each
// of four dialects. The provider refuses the requests that its model would refuse. Each run has two turns
// with a tool. Prints a line for each run, and the numbers of refusals, second requests and tools that did
// not arrive.
//   npm run agents -- known [--agent NAME]… [--upstream NAME]… [--scratch DIR] [--details FILE]
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageTable } from '../../src/models/facts.ts'
import { installAgent } from './install.ts'
import { KNOWN_MODELS, type KnownModel } from './known-models.ts'
import { type Result, tryAgent } from './run.ts'
import type { Upstream } from './stage.ts'
import { TESTED_AGENTS } from './table.ts'

const { values } = parseArgs({
  options: {
    agent: { type: 'string', multiple: true },
    upstream: { type: 'string', multiple: true },
    scratch: { type: 'string', default: join(tmpdir(), 'waybill-agents') },
    details: { type: 'string' },
  },
})

/** Models with narrow limits, at a provider of each dialect. */
const SERVED: Readonly<Record<string, Upstream>> = {
  chat: { provider: 'openai', main: 'gpt-6-sol', aside: 'gpt-6-luna' },
  messages: { provider: 'anthropic', main: 'claude-opus-5-5', aside: 'claude-haiku-5-5' },
  responses: { provider: 'openai', main: 'gpt-6-sol', aside: 'gpt-6-luna' },
  gemini: { provider: 'gemini', main: 'gemini-3.8-flash', aside: 'gemini-3.6-flash' },
}

/**
 * Returns the target that serves a model: in the agent's own dialect, the model itself if the provider has
 * it.
 */
function servedBy({ model, way }: KnownModel, upstream: string): Upstream {
  const served = SERVED[upstream]!
  if (way !== upstream) return served
  const { provider } = served
  const isTheirs = packageTable().models.some((each) => each.provider === provider && each.model === model)
  // OpenAI serves both of its dialects, so that a call with tools uses the dialect in which the model accepts
  // tools.
  return {
    ...served,
    ...(isTheirs && { main: model }),
    ...(way === 'chat' && { dialects: ['chat', 'responses'] }),
  }
}

const done: Result[] = []
for (const agent of TESTED_AGENTS.filter(({ name }) => values.agent?.includes(name) ?? true)) {
  const installed = installAgent(agent, values.scratch)
  for (const known of KNOWN_MODELS.filter((each) => each.agent === agent.name))
    for (const upstream of Object.keys(SERVED).filter((name) => values.upstream?.includes(name) ?? true)) {
      const result = await tryAgent(agent, installed, {
        ...{
          client: known.way,
          upstream,
          trouble: 'task',
          parallel: known.reads === undefined,
          again: 'same',
        },
        ...(known.reads && { reads: known.reads }),
        known: { asks: known.model, serves: servedBy(known, upstream) },
      })
      done.push(result)
      console.log(lineOf(result))
      if (values.details) writeFileSync(values.details, JSON.stringify(done, null, 1))
    }
}
const sum = (of: (result: Result) => number) => done.reduce((total, each) => total + of(each), 0)
console.log(
  `${done.length} runs, ${done.filter(isDone).length} done; ${sum(({ inferences }) => inferences)} requests at the providers, ${sum(({ refusals }) => refusals.length)} refused; losses of tools: ${sum(({ losses }) => losses.filter(isTool).length)}`,
)

function isDone({ outcome, second }: Result): boolean {
  return outcome === 'done' && (second === 'done' || second === 'not tried')
}

/** Tools that the provider itself would run have no counterpart elsewhere; all other tools must arrive. */
function isTool(loss: string): boolean {
  return loss === 'unknown.tool' || loss === 'tool.builtin'
}

function lineOf(result: Result): string {
  const { agent, version, known, client, upstream, outcome, second, inferences, calls, tools } = result
  const refused = result.refusals.map((each) => `\n    refused: ${each}`).join('')
  return `${agent} ${version}, ${known!.asks} in ${client} → ${upstream} ${known!.serves.main}: ${outcome}, then ${second}; ${calls} calls, ${inferences} requests, ${tools} tools; lost ${result.losses.join(', ') || 'nothing'} (${result.seconds} s)${refused}`
}
