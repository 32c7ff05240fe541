// What the official clients conclude from an answer, for tests. Each reading is as an application would write it, from the
// client's documentation: nothing here knows of a gateway.
import Anthropic from '@anthropic-ai/sdk'
import { type GenerateContentResponse, GoogleGenAI, type Interactions } from '@google/genai'
import OpenAI from 'openai'

/** What an application knows after an answer without an exception. */
export interface Read {
  readonly text: string
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[]
  /** As `concludes.end` of a deviation; a word that the client's documentation does not know stays as it is. */
  readonly end: string
  /** Ids by which the application answers the calls. */
  readonly ids: readonly string[]
  readonly reasoning: string
  /** Undefined where the client has no numbers. */
  readonly usage: { readonly input: number | undefined; readonly output: number | undefined }
}

export interface OfficialClient {
  readonly name: string
  readonly dialect: 'chat' | 'messages' | 'responses' | 'gemini' | 'interactions'
  /** A helper that collects a stream. */
  readonly onlyStreams?: true
  /** The client throws at an answer that met a limit or a filter, also at its own provider. */
  readonly throwsAtLimits?: boolean
  /** The client has no place for reasoning in this dialect. */
  readonly hidesThoughts?: boolean
  /** Asks `origin` for an answer, and reads it. Throws what the client throws. */
  read(origin: string, isStream: boolean): Promise<Read>
}

/** The tool that each client offers. */
export const TOOL = {
  name: 'get_weather',
  description: 'Returns the weather.',
  parameters: { type: 'object' as const, properties: { city: { type: 'string' } } },
}
const OPTIONS = { apiKey: 'none', maxRetries: 0, timeout: 30_000, logLevel: 'off' as const }
const openai = (origin: string) => new OpenAI({ ...OPTIONS, baseURL: `${origin}/v1` })
const parsed = (name: string, args: string | null | undefined) => ({
  name,
  arguments: JSON.parse(args || '{}'),
})

const CHAT = {
  model: 'auto',
  messages: [{ role: 'user' as const, content: 'hi' }],
  tools: [{ type: 'function' as const, function: TOOL }],
}
const WITH_USAGE = { stream_options: { include_usage: true } }
const RESPONSES = {
  model: 'auto',
  input: 'hi',
  tools: [{ type: 'function' as const, strict: false, ...TOOL }],
}
const MESSAGES = {
  model: 'auto',
  max_tokens: 1_000,
  messages: [{ role: 'user' as const, content: 'hi' }],
  tools: [{ name: TOOL.name, input_schema: TOOL.parameters }],
}
const GEMINI = {
  model: 'auto',
  contents: 'hi',
  config: { tools: [{ functionDeclarations: [{ name: TOOL.name, parametersJsonSchema: TOOL.parameters }] }] },
}

/** Words of the dialects and clients for the end, as words of `Read`. */
export const ENDS: Readonly<Record<string, string>> = {
  tool_calls: 'calls',
  function_call: 'calls',
  content_filter: 'refusal',
  end_turn: 'stop',
  tool_use: 'calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  max_output_tokens: 'length',
  MAX_TOKENS: 'length',
  SAFETY: 'refusal',
  RECITATION: 'refusal',
  BLOCKLIST: 'refusal',
  PROHIBITED_CONTENT: 'refusal',
  SPII: 'refusal',
  IMAGE_SAFETY: 'refusal',
}
const ended = (word: string) => ENDS[word] ?? word

/** Reasoning is a member that the client's types do not know, and that it passes on. */
const thoughts = (of: object | undefined) =>
  (of as { reasoning_content?: string } | undefined)?.reasoning_content ?? ''
const chatUsage = (usage: OpenAI.CompletionUsage | null | undefined) => ({
  input: usage?.prompt_tokens,
  output: usage?.completion_tokens,
})

function readCompletion({ choices, usage }: OpenAI.ChatCompletion): Read {
  const { message, finish_reason } = choices[0]!
  const made = (message.tool_calls ?? []).filter((call) => call.type === 'function')
  const calls = made.map((call) => call.function)
  return {
    text: message.content ?? message.refusal ?? '',
    calls: calls.map(({ name, arguments: args }) => parsed(name, args)),
    end: finish_reason ? ended(finish_reason) : calls.length ? 'calls' : 'stop',
    ids: made.map(({ id }) => id),
    reasoning: thoughts(message),
    usage: chatUsage(usage),
  }
}

async function readChunks(stream: AsyncIterable<OpenAI.ChatCompletionChunk>): Promise<Read> {
  let [text, reasoning] = ['', '']
  let end: string | null = null
  let counted: OpenAI.CompletionUsage | null = null
  const calls: { id: string; name: string; args: string }[] = []
  for await (const { choices, usage } of stream) {
    const choice = choices[0]
    counted = usage ?? counted
    reasoning += thoughts(choice?.delta)
    text += choice?.delta?.content ?? choice?.delta?.refusal ?? ''
    end = choice?.finish_reason ?? end
    for (const { index, id: given = '', function: part } of choice?.delta?.tool_calls ?? []) {
      const { id, name, args } = calls[index] ?? { id: '', name: '', args: '' }
      calls[index] = {
        id: id || given,
        name: name || (part?.name ?? ''),
        args: args + (part?.arguments ?? ''),
      }
    }
  }
  return {
    text,
    calls: calls.map(({ name, args }) => parsed(name, args)),
    end: end ? ended(end) : 'failed',
    ids: calls.map(({ id }) => id),
    reasoning,
    usage: chatUsage(counted),
  }
}

type ResponseEnd = Partial<OpenAI.Responses.Response>
const responseUsage = ({ usage }: ResponseEnd) => ({
  input: usage?.input_tokens,
  output: usage?.output_tokens,
})
const responseEnd = ({ status, incomplete_details }: ResponseEnd, hasCalls: boolean) => {
  if (status === 'incomplete') return ended(incomplete_details?.reason ?? 'length')
  return status !== 'completed' ? 'failed' : hasCalls ? 'calls' : 'stop'
}

function readResponse(response: OpenAI.Responses.Response): Read {
  const calls = response.output.filter((item) => item.type === 'function_call')
  const parts = response.output.flatMap((item) => (item.type === 'message' ? item.content : []))
  return {
    text: parts.map((part) => (part.type === 'output_text' ? part.text : part.refusal)).join(''),
    calls: calls.map(({ name, arguments: args }) => parsed(name, args)),
    end: responseEnd(response, calls.length > 0),
    ids: calls.map(({ call_id }) => call_id),
    reasoning: response.output.flatMap(summaries).join(''),
    usage: responseUsage(response),
  }
}

const summaries = (item: OpenAI.Responses.ResponseOutputItem) =>
  item.type === 'reasoning' ? [...item.summary, ...(item.content ?? [])].map(({ text }) => text) : []

async function readEvents(stream: AsyncIterable<OpenAI.Responses.ResponseStreamEvent>): Promise<Read> {
  let [text, reasoning] = ['', '']
  let end: ResponseEnd = {}
  const calls: Read['calls'][number][] = []
  const ids: string[] = []
  for await (const event of stream)
    if (event.type === 'response.output_text.delta' || event.type === 'response.refusal.delta')
      text += event.delta
    else if (event.type === 'response.reasoning_summary_text.delta') reasoning += event.delta
    else if (event.type === 'response.output_item.done' && event.item.type === 'function_call') {
      calls.push(parsed(event.item.name, event.item.arguments))
      ids.push(event.item.call_id)
    } else if (event.type === 'response.completed' || event.type === 'response.incomplete')
      end = event.response
    else if (event.type === 'response.failed') end = event.response
    else if (event.type === 'error') throw new Error(event.message)
  return { text, calls, end: responseEnd(end, calls.length > 0), ids, reasoning, usage: responseUsage(end) }
}

const readMessage = ({ content, stop_reason, usage }: Anthropic.Message): Read => ({
  text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
  calls: content.flatMap((block) =>
    block.type === 'tool_use' ? [{ name: block.name, arguments: block.input }] : [],
  ),
  end: stop_reason ? ended(stop_reason) : 'failed',
  ids: content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : [])),
  reasoning: content.map((block) => (block.type === 'thinking' ? block.thinking : '')).join(''),
  usage: {
    input:
      usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0),
    output: usage.output_tokens,
  },
})

function readGemini(chunks: readonly GenerateContentResponse[]): Read {
  const parts = chunks.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? [])
  const calls = parts.flatMap(({ functionCall: call }) =>
    call ? [{ name: call.name!, arguments: call.args ?? {} }] : [],
  )
  const word = chunks.flatMap(({ candidates }) => candidates?.[0]?.finishReason ?? []).at(-1)
  const isBlocked = chunks.some(({ promptFeedback }) => promptFeedback?.blockReason)
  const usage = chunks.flatMap(({ usageMetadata }) => usageMetadata ?? []).at(-1)
  const texts = (isThought: boolean) =>
    parts.map(({ text, thought }) => (Boolean(thought) === isThought ? (text ?? '') : '')).join('')
  return {
    text: texts(false),
    calls,
    ids: parts.flatMap(({ functionCall: call }) => call?.id ?? []),
    reasoning: texts(true),
    usage: {
      input: usage?.promptTokenCount,
      output: usage && (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
    },
    end: isBlocked
      ? 'refusal'
      : !word
        ? 'failed'
        : word !== 'STOP'
          ? ended(word)
          : calls.length
            ? 'calls'
            : 'stop',
  }
}

const INTERACTION = {
  model: 'auto',
  input: 'hi',
  tools: [{ type: 'function' as const, name: TOOL.name, parameters: TOOL.parameters }],
}
/** This part of the client repeats its calls whatever its `retryOptions` are. */
const NO_RETRIES = { maxRetries: 0 }
const STATUSES: Readonly<Record<string, string>> = {
  completed: 'stop',
  requires_action: 'calls',
  incomplete: 'length',
  budget_exceeded: 'length',
}

/** Reads the steps of an interaction; those of a stream were collected from its events. */
function readInteraction(steps: readonly any[], { status, usage, errors }: any): Read {
  const of = (type: string) => steps.filter((step) => step.type === type)
  const texts = (type: string, member: string) =>
    of(type)
      .flatMap((step) => step[member] ?? [])
      .map((part: any) => part.text ?? '')
      .join('')
  const calls = of('function_call')
  const isRefused = errors?.[0]?.code === 'content_filter'
  const end = isRefused ? 'refusal' : (STATUSES[status] ?? status ?? 'failed')
  return {
    text: texts('model_output', 'content'),
    reasoning: texts('thought', 'summary'),
    calls: calls.map(({ name, arguments: args }) => ({ name, arguments: args })),
    ids: calls.map(({ id }) => id),
    usage: {
      input: usage && (usage.total_input_tokens ?? 0) + (usage.total_tool_use_tokens ?? 0),
      output: usage && (usage.total_output_tokens ?? 0) + (usage.total_thought_tokens ?? 0),
    },
    end: end === 'stop' && calls.length > 0 ? 'calls' : end,
  }
}

async function readSteps(stream: AsyncIterable<Interactions.InteractionSSEEvent>): Promise<Read> {
  const steps = new Map<number, any>()
  let last: any = {}
  for await (const event of stream) {
    if (event.event_type === 'error') throw new Error(event.error?.message)
    if (event.event_type === 'step.start') steps.set(event.index, { ...event.step })
    else if (event.event_type === 'step.delta') {
      const { delta, index } = event
      const step = steps.get(index)
      if (delta.type === 'text') step.content = [...(step.content ?? []), delta]
      else if (delta.type === 'thought_summary') step.summary = [...(step.summary ?? []), delta.content]
      else if (delta.type === 'arguments_delta') step.pieces = (step.pieces ?? '') + delta.arguments
    } else if (event.event_type === 'interaction.completed') last = event.interaction
  }
  const collected = [...steps.values()].map((step) =>
    step.pieces === undefined ? step : { ...step, arguments: JSON.parse(step.pieces) },
  )
  return readInteraction(collected, last)
}

export const OFFICIAL_CLIENTS: readonly OfficialClient[] = [
  {
    name: 'openai chat.completions.create',
    dialect: 'chat',
    read: async (origin, isStream) => {
      const { completions } = openai(origin).chat
      if (!isStream) return readCompletion(await completions.create(CHAT))
      return readChunks(await completions.create({ ...CHAT, ...WITH_USAGE, stream: true }))
    },
  },
  {
    name: 'openai chat.completions.stream',
    dialect: 'chat',
    onlyStreams: true,
    read: async (origin) =>
      readCompletion(
        await openai(origin)
          .chat.completions.stream({ ...CHAT, ...WITH_USAGE })
          .finalChatCompletion(),
      ),
  },
  {
    name: 'openai responses.create',
    dialect: 'responses',
    read: async (origin, isStream) => {
      const { responses } = openai(origin)
      if (!isStream) return readResponse(await responses.create(RESPONSES))
      return readEvents(await responses.create({ ...RESPONSES, stream: true }))
    },
  },
  {
    name: 'openai responses.stream',
    dialect: 'responses',
    onlyStreams: true,
    read: async (origin) => readResponse(await openai(origin).responses.stream(RESPONSES).finalResponse()),
  },
  {
    name: '@anthropic-ai/sdk messages',
    dialect: 'messages',
    read: async (origin, isStream) => {
      const { messages } = new Anthropic({ ...OPTIONS, baseURL: origin })
      return readMessage(
        await (isStream ? messages.stream(MESSAGES).finalMessage() : messages.create(MESSAGES)),
      )
    },
  },
  {
    name: '@google/genai',
    dialect: 'gemini',
    read: async (origin, isStream) => {
      const { models } = new GoogleGenAI({
        apiKey: 'none',
        httpOptions: { baseUrl: origin, timeout: 30_000, retryOptions: { attempts: 1 } },
      })
      if (!isStream) return readGemini([await models.generateContent(GEMINI)])
      const chunks: GenerateContentResponse[] = []
      for await (const chunk of await models.generateContentStream(GEMINI)) chunks.push(chunk)
      return readGemini(chunks)
    },
  },
  {
    name: '@google/genai interactions',
    dialect: 'interactions',
    read: async (origin, isStream) => {
      const { interactions } = new GoogleGenAI({
        apiKey: 'none',
        httpOptions: { baseUrl: origin, timeout: 30_000, retryOptions: { attempts: 1 } },
      })
      if (isStream) return readSteps(await interactions.create({ ...INTERACTION, stream: true }, NO_RETRIES))
      const answer = await interactions.create(INTERACTION, NO_RETRIES)
      return readInteraction(answer.steps ?? [], answer)
    },
  },
]
