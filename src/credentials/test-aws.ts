// Bedrock for tests. It verifies each signature, and answers at its three paths. Environment variables and
// files of AWS are set for the test, so that those of this machine are not used.
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import {
  type AwsAccount,
  chunkMessage,
  exceptionMessage,
  signatureProblem,
} from '../../mocks/dialects/aws.ts'
import type { Received, Script } from '../../mocks/test-upstream.ts'

export const ACCOUNT: AwsAccount = {
  accessKeyId: 'AKIAEXAMPLE00000001',
  secretAccessKey: 'wJalrXUtnFEMIexample/bPxRfiCYEXAMPLEKEY01',
}

/** Sets environment variables until the test ends. A value of undefined removes the variable. */
export function setEnvironment(t: TestContext, values: Readonly<Record<string, string | undefined>>): void {
  const before = Object.fromEntries(Object.keys(values).map((name) => [name, process.env[name]]))
  const set = (given: typeof values) => {
    for (const [name, value] of Object.entries(given))
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  }
  set(values)
  t.after(() => set(before))
}

/** Sets AWS's variables for an account, and its file paths to files that do not exist. */
export const useAccount = (t: TestContext, account: AwsAccount | null, more = {}): void =>
  setEnvironment(t, {
    AWS_ACCESS_KEY_ID: account?.accessKeyId,
    AWS_SECRET_ACCESS_KEY: account?.secretAccessKey,
    AWS_SESSION_TOKEN: account?.sessionToken,
    AWS_CREDENTIAL_EXPIRATION: undefined,
    AWS_CONFIG_FILE: '/nowhere/config',
    AWS_SHARED_CREDENTIALS_FILE: '/nowhere/credentials',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_PROFILE: undefined,
    ...more,
  })

interface BedrockOptions {
  readonly accounts?: readonly AwsAccount[]
  readonly now?: () => number
  /** Number of messages after which a stream fails, and the exception with which it fails. */
  readonly failsAfter?: { readonly messages: number; readonly type: string }
}

export const EVENTS = [
  {
    type: 'message_start',
    message: {
      ...{ id: 'msg_bdrk_1', type: 'message', role: 'assistant', model: 'claude-haiku-4-5-20251001' },
      ...{ content: [], stop_reason: null, stop_sequence: null },
      usage: { input_tokens: 30, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'nörth' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' and west' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: 12 },
  },
  {
    type: 'message_stop',
    'amazon-bedrock-invocationMetrics': { inputTokenCount: 30, outputTokenCount: 12 },
  },
] as const

export const MESSAGE = {
  ...EVENTS[0].message,
  content: [{ type: 'text', text: 'nörth and west' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 30, output_tokens: 12 },
}

/** Answers signed requests as Bedrock does. */
export function bedrockScript({
  accounts = [ACCOUNT],
  now = Date.now,
  failsAfter,
}: BedrockOptions = {}): Script {
  return (response, received) => {
    response.setHeader('date', new Date(now()).toUTCString())
    const problem = signatureProblem(signedOf(received), {
      ...{ accounts, region: 'eu-central-1', services: ['bedrock'] },
      now: now(),
    })
    if (problem) {
      response.setHeader('x-amzn-errortype', `${problem.type}:http://internal.amazon.com/coral/`)
      return json(response, 403, { message: problem.message })
    }
    const { path } = received
    if (path.endsWith('/count-tokens')) return json(response, 200, { inputTokens: 31 })
    if (path.endsWith('/chat/completions')) return json(response, 200, CHAT)
    if (!path.endsWith('-stream')) return json(response, 200, MESSAGE)
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
    const messages = EVENTS.map((event) => chunkMessage(JSON.stringify(event)))
    const sent = failsAfter
      ? [...messages.slice(0, failsAfter.messages), exceptionMessage(failsAfter.type, 'It failed.')]
      : messages
    writeInPieces(response, Buffer.concat(sent), 7)
  }
}

/** Writes bytes in pieces whose ends do not match the ends of the messages. */
function writeInPieces(response: ServerResponse, bytes: Buffer, pieces: number): void {
  const size = Math.ceil(bytes.length / pieces)
  const write = (from: number) => {
    if (from >= bytes.length) return void response.end()
    response.write(bytes.subarray(from, from + size), () => setImmediate(write, from + size))
  }
  write(0)
}

const signedOf = ({ path, headers, text }: Received) => {
  const [rawPath = '', query = ''] = path.split('?')
  return {
    ...{ method: 'POST', rawPath, query: new URLSearchParams(query), text },
    headers: headers as Record<string, string>,
  }
}

const CHAT = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'openai.gpt-oss-120b-1:0',
  choices: [{ index: 0, message: { role: 'assistant', content: 'south' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27 },
}

const json = (response: ServerResponse, status: number, body: object): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
