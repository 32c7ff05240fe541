// Conclusions of the AI SDK and of the official Python clients from an answer, for tests. They are no
// dependencies of this project: a test uses those that it finds.
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { ENDS, type OfficialClient, type Read, TOOL } from './test-official-clients.ts'

/** Clients that a test may use, or the reason why it cannot. */
interface FoundClients {
  readonly clients: readonly OfficialClient[]
  /** Names and versions of the packages; null if they are missing. */
  readonly versions: string | null
  readonly missing: string
}

const AI_SDK = process.env.WAYBILL_AI_SDK ?? join(tmpdir(), 'waybill-ai-sdk')
const PACKAGES = ['ai', '@ai-sdk/openai', '@ai-sdk/anthropic', '@ai-sdk/google']

/** The members of the AI SDK that an application uses here. */
interface AiSdk {
  generateText(options: object): Promise<AiAnswer>
  streamText(options: object): { readonly fullStream: AsyncIterable<AiPart> }
  jsonSchema(schema: object): unknown
}
interface AiCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
}
interface AiUsage {
  readonly inputTokens?: number
  readonly outputTokens?: number
}
interface AiAnswer {
  readonly text: string
  readonly reasoningText?: string
  readonly toolCalls: readonly AiCall[]
  readonly finishReason: string
  readonly usage: AiUsage
}
type AiPart =
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly text: string }
  | ({ readonly type: 'tool-call' } & AiCall)
  | { readonly type: 'error'; readonly error: unknown }
  | { readonly type: 'finish'; readonly finishReason: string; readonly totalUsage: AiUsage }
  | { readonly type: 'start' }

const packageOf = (name: string) => join(AI_SDK, 'node_modules', name)
const load = (name: string) => import(pathToFileURL(join(packageOf(name), 'dist/index.js')).href)

/** Returns the AI SDK's clients. */
export function aiSdkClients(): FoundClients {
  const isThere = PACKAGES.every((name) => existsSync(packageOf(name)))
  const versions = isThere
    ? PACKAGES.map(
        (name) =>
          `${name} ${JSON.parse(readFileSync(join(packageOf(name), 'package.json'), 'utf8')).version}`,
      )
    : null
  const client = (
    name: string,
    dialect: OfficialClient['dialect'],
    model: (origin: string) => Promise<object>,
  ): OfficialClient => ({
    name: `ai with ${name}`,
    dialect,
    hidesThoughts: dialect === 'chat',
    read: async (origin, isStream) => readAiSdk(await load('ai'), await model(origin), isStream),
  })
  const options = (origin: string, path: string) => ({ apiKey: 'none', baseURL: `${origin}/${path}` })
  const openai = async (origin: string) => (await load('@ai-sdk/openai')).createOpenAI(options(origin, 'v1'))
  return {
    versions: versions?.join(', ') ?? null,
    missing: `npm install --prefix ${AI_SDK} ${PACKAGES.join(' ')}, or WAYBILL_AI_SDK names another directory`,
    clients: [
      client('openai.chat', 'chat', async (origin) => (await openai(origin)).chat('auto')),
      client('openai.responses', 'responses', async (origin) => (await openai(origin)).responses('auto')),
      client('anthropic', 'messages', async (origin) =>
        (await load('@ai-sdk/anthropic')).createAnthropic(options(origin, 'v1'))('auto'),
      ),
      client('google', 'gemini', async (origin) =>
        (await load('@ai-sdk/google')).createGoogle(options(origin, 'v1beta'))('auto'),
      ),
    ],
  }
}

async function readAiSdk(ai: AiSdk, model: object, isStream: boolean): Promise<Read> {
  const tools = {
    [TOOL.name]: { description: TOOL.description, inputSchema: ai.jsonSchema(TOOL.parameters) },
  }
  const asked = { model, prompt: 'hi', tools, maxRetries: 0, maxOutputTokens: 1_000, onError: () => {} }
  if (!isStream) return concludedFrom(await ai.generateText(asked))
  let [text, reasoningText, finishReason] = ['', '', 'error']
  let usage: AiUsage = {}
  const toolCalls: AiCall[] = []
  for await (const part of ai.streamText(asked).fullStream)
    if (part.type === 'text-delta') text += part.text
    else if (part.type === 'reasoning-delta') reasoningText += part.text
    else if (part.type === 'tool-call') toolCalls.push(part)
    else if (part.type === 'error') throw part.error
    else if (part.type === 'finish') [finishReason, usage] = [part.finishReason, part.totalUsage]
  return concludedFrom({ text, reasoningText, toolCalls, finishReason, usage })
}

const concludedFrom = ({ text, reasoningText, toolCalls, finishReason, usage }: AiAnswer): Read => ({
  text,
  calls: toolCalls.map(({ toolName, input }) => ({ name: toolName, arguments: input })),
  end: finishReason === 'error' ? 'failed' : (ENDS[finishReason.replace('-', '_')] ?? finishReason),
  ids: toolCalls.map(({ toolCallId }) => toolCallId),
  reasoning: reasoningText ?? '',
  usage: { input: usage.inputTokens, output: usage.outputTokens },
})

/** Python with the clients; by default the one that `npm run agents -- python-clients` makes. */
const PYTHON = process.env.WAYBILL_PYTHON ?? join(tmpdir(), 'waybill-python', 'bin', 'python')
const PROGRAM = fileURLToPath(new URL('python-readings.py', import.meta.url))

let child: ChildProcessByStdio<Writable, Readable, null> | null = null
let lines: AsyncIterator<string> | null = null

/** Returns the official Python clients, which read answers in one process of their own. */
export function pythonClients(): FoundClients {
  let versions: string | null = null
  try {
    versions = execFileSync(PYTHON, [PROGRAM, '--versions'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    })
  } catch {} // no interpreter, or one without the packages
  const client = (name: string, dialect: OfficialClient['dialect'], onlyStreams?: true): OfficialClient => ({
    name: `Python ${name}`,
    dialect,
    ...(onlyStreams && { onlyStreams, throwsAtLimits: true }),
    read: (origin, isStream) => readInPython(name, origin, isStream),
  })
  return {
    versions: versions?.trim() ?? null,
    missing: `npm run agents -- python-clients, or WAYBILL_PYTHON names a Python with openai, anthropic and google-genai`,
    clients: [
      client('openai chat.completions.create', 'chat'),
      client('openai chat.completions.stream', 'chat', true),
      client('openai responses.create', 'responses'),
      client('openai responses.stream', 'responses', true),
      client('anthropic messages', 'messages'),
      client('google-genai', 'gemini'),
    ],
  }
}

async function readInPython(client: string, origin: string, isStream: boolean): Promise<Read> {
  child ??= spawn(PYTHON, [PROGRAM], { stdio: ['pipe', 'pipe', 'ignore'] })
  lines ??= createInterface(child.stdout)[Symbol.asyncIterator]()
  child.stdin.write(`${JSON.stringify({ client, origin, stream: isStream, tool: TOOL })}\n`)
  const { value } = await lines.next()
  if (value === undefined) throw new Error('Python ended')
  const { read, threw } = JSON.parse(value)
  if (threw !== undefined) throw new Error(threw)
  return { ...read, usage: { input: read.usage.input ?? undefined, output: read.usage.output ?? undefined } }
}

/** Ends the process of the Python clients. */
export function endPython(): void {
  child?.kill()
  child = null
  lines = null
}
