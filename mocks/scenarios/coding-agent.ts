// Answers to coding agents that try the package's recordings: in English, with the agent's own tools, and a title where
// one is asked for. Their requests offer tools that no recording calls. Pure; independent of providers.
import { hasToolResult } from '../matching/classify.ts'
import { conversationOf } from '../matching/conversation.ts'
import type { ModelOutput } from '../provider.ts'
import { offeredTools, sampleOf, wantedJson } from './offered-tools.ts'

/** The only tool that the package's recordings call. */
const RECORDED_TOOL = 'get_weather'
/** Tools that can list files, by what agents call them. Some agents must first download a program for the last one. */
const LISTING = [
  /^(?:list_directory|list_files|list|ls)$/i,
  /^(?:bash|shell|exec_command|run_shell_command|run_command)$/i,
  /^glob$/i,
]
/** Arguments that change nothing. */
const HARMLESS: readonly [RegExp, string][] = [
  [/pattern|glob/, '*'],
  [/^(?:cmd|command)$/, 'ls'],
  [/path|dir|folder/, '.'],
  [/description/, 'List the files'],
]

const TITLE = 'A first look at Waybill'
const BEFORE = 'This is a recorded answer, played back by Waybill. First I list the files.'
const AFTER =
  'This is a recorded answer, played back by Waybill: no provider was asked, and nothing was spent. Your agent is connected; `waybill logs` shows where each of its calls went.'

/** Returns the output for an agent's request; null if the request is not that of an agent. */
export function outputForAgent(body: unknown): Pick<ModelOutput, 'text' | 'calls' | 'finish'> | null {
  const offered = offeredTools(body)
  if (offered.some(({ name }) => name === RECORDED_TOOL)) return null
  const json = wantedJson(body)
  if (json !== null) return saying(json.replace(/("title":)"text"/, `$1"${TITLE}"`))
  if (offered.length === 0) return asksForTitle(body) ? saying(TITLE) : null
  const [tool] = LISTING.flatMap((names) => offered.filter(({ name }) => names.test(name)))
  if (!tool || hasToolResult(body)) return saying(AFTER)
  const call = { id: 'call_list', name: tool.name, arguments: [JSON.stringify(harmless(tool.schema))] }
  return { text: [BEFORE], calls: [call], finish: 'tool_calls' }
}

const saying = (text: string) => ({ text: [text], calls: [], finish: 'stop' as const })

const asksForTitle = (body: unknown): boolean =>
  conversationOf(body)?.parts.some(({ kind, text }) => kind === 'text' && /\btitle\b/i.test(text)) ?? false

/** Returns arguments that fit the schema, and do nothing but list files. */
function harmless(schema: Readonly<Record<string, unknown>>): unknown {
  const sample = sampleOf(schema) as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(sample).map(([name, value]) => {
      const [, text] = HARMLESS.find(([known]) => known.test(name)) ?? []
      if (text === undefined) return [name, value]
      return [name, Array.isArray(value) ? [text] : text]
    }),
  )
}
