// `npm run agents -- known`: each agent requests three models that it knows by name, from a provider of each
// of four dialects. The provider refuses the requests that its model would refuse. Each run has two turns
// with a tool. Prints a line for each run, and the numbers of refusals, second requests and tools that did
// not arrive.
//   npm run agents -- known [--agent NAME]… [--upstream NAME]… [--scratch DIR] [--details FILE]
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { packageTable } from '../../src/models/facts.ts'
import { type Result, tryAgent } from './run.ts'
import { installedAgents, SCRATCH, type Upstream } from './stage.ts'
import type { AgentCall } from './table.ts'

const { values } = parseArgs({
  options: {
    agent: { type: 'string', multiple: true },
    upstream: { type: 'string', multiple: true },
    scratch: { type: 'string', default: SCRATCH },
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

interface KnownModel {
  readonly agent: string
  readonly model: string
  /** Dialect in which the agent requests the model: a key of its `ways`. */
  readonly way: string
  /** Call that reads a file, if the agent offers unusual tools to this model. */
  readonly reads?: (file: string) => AgentCall
}

/**
 * Codex gives its newest models one tool that runs JavaScript. The other tools are functions in its scripts.
 */
const byScript = (file: string): AgentCall => ({
  name: 'functions__exec',
  arguments: {
    input: `const r = await tools.exec_command({ cmd: "cat ${file}" }); text(r.output ?? JSON.stringify(r))`,
  },
})

const KNOWN_MODELS: readonly KnownModel[] = [
  { agent: 'claude-code', model: 'claude-opus-5-5', way: 'messages' },
  { agent: 'claude-code', model: 'claude-sonnet-5-5', way: 'messages' },
  { agent: 'claude-code', model: 'claude-haiku-4-5', way: 'messages' },
  { agent: 'codex', model: 'gpt-6-sol', way: 'responses', reads: byScript },
  { agent: 'codex', model: 'gpt-5.6-sol', way: 'responses', reads: byScript },
  { agent: 'codex', model: 'gpt-5.4', way: 'responses' },
  { agent: 'opencode', model: 'claude-opus-5-5', way: 'messages' },
  { agent: 'opencode', model: 'gpt-5.6-sol', way: 'responses' },
  { agent: 'opencode', model: 'gemini-3.1-pro-preview', way: 'chat' },
  { agent: 'copilot', model: 'claude-sonnet-4-6', way: 'messages' },
  { agent: 'copilot', model: 'gpt-5.4', way: 'responses' },
  { agent: 'copilot', model: 'gpt-5-mini', way: 'chat' },
  { agent: 'qwen', model: 'claude-sonnet-4-6', way: 'messages' },
  { agent: 'qwen', model: 'gpt-5.4', way: 'responses' },
  { agent: 'qwen', model: 'deepseek-v4-pro', way: 'chat' },
  { agent: 'gemini', model: 'gemini-3.1-pro-preview', way: 'gemini' },
  { agent: 'gemini', model: 'gemini-3-flash-preview', way: 'gemini' },
  { agent: 'gemini', model: 'gemini-2.5-pro', way: 'gemini' },
  { agent: 'aider', model: 'gpt-5', way: 'chat' },
  { agent: 'aider', model: 'o3', way: 'chat' },
  { agent: 'aider', model: 'claude-opus-4-5', way: 'messages' },
  { agent: 'continue', model: 'gpt-5', way: 'chat' },
  { agent: 'continue', model: 'o3', way: 'chat' },
  { agent: 'continue', model: 'claude-sonnet-4-5', way: 'messages' },
  { agent: 'cline', model: 'gpt-5.4', way: 'chat' },
  { agent: 'cline', model: 'claude-opus-4-8', way: 'chat' },
  { agent: 'cline', model: 'gemini-3.1-pro-preview', way: 'chat' },
  { agent: 'pi', model: 'claude-opus-4-7', way: 'messages' },
  { agent: 'pi', model: 'gpt-5.4', way: 'responses' },
  { agent: 'pi', model: 'gemini-3.1-pro-preview', way: 'gemini' },
]

const done: Result[] = []
for (const { agent, installed } of installedAgents(values.agent, values.scratch)) {
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
