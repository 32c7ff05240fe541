// What the providers' stand-ins share: how a request is read, and how it is answered from recordings.
// Knows MSW and the OpenAI dialect. Does not know single providers, sockets or ports.
import { http, type RequestHandler } from 'msw'
import { z } from 'zod'
import { type Asked, type Miss, match } from './match.ts'
import type { Recording } from './recording.ts'
import { type Pace, replay } from './replay.ts'

/** Where a provider lives. `basePaths`: longest first; an endpoint's path comes after one of them. */
export interface Address {
  readonly name: string
  readonly origin: string
  readonly basePaths: readonly string[]
}

/** One provider's stand-in. Its handlers run wherever MSW's do: under interception, or through `getResponse`. */
export interface Provider extends Address {
  handlers(recordings: readonly Recording[], options: { readonly pace: Pace }): RequestHandler[]
}

/** The handlers of a provider that speaks OpenAI's dialect: each endpoint is answered from the recordings. */
export function openAiDialect({ name, origin, basePaths }: Address): Provider['handlers'] {
  return (recordings, { pace }) =>
    basePaths.map((basePath) =>
      http.all(`${origin}${basePath}/*`, async ({ request }) => {
        const endpoint = new URL(request.url).pathname.slice(basePath.length + 1)
        return answer(request, { provider: name, endpoint, ...(await read(request)) }, recordings, pace)
      }),
    )
}

/** Answers a request to a place that is no provider's: nothing is recorded there, and nothing goes out. */
export function elsewhere(recordings: readonly Recording[]): RequestHandler {
  return http.all('*', async ({ request }) => {
    const { host, pathname } = new URL(request.url)
    return answer(
      request,
      { provider: host, endpoint: pathname.slice(1), ...(await read(request)) },
      recordings,
      'none',
    )
  })
}

async function answer(
  request: Request,
  asked: Asked,
  recordings: readonly Recording[],
  pace: Pace,
): Promise<Response> {
  const found = match(recordings, asked)
  return 'bytes' in found ? replay(found, pace) : noRecording(request, asked, found)
}

/** REC-02: names what was asked and the nearest recording. The query stays out: a key may stand in it. */
function noRecording(request: Request, asked: Asked, { nearest, differs }: Miss): Response {
  const { origin, pathname } = new URL(request.url)
  const { model, stream, scenario } = asked
  const message = [
    `No recording answers ${request.method} ${origin}${pathname} with model ${JSON.stringify(model)}, stream ${stream}, scenario "${scenario}".`,
    nearest
      ? `The nearest is ${nearest.name}; it differs in ${differs.join(', ')}.`
      : 'There are no recordings at all.',
  ].join(' ')
  const body = JSON.stringify({ error: { message, type: 'replay_error', param: null, code: 'no_recording' } })
  return new Response(body, {
    status: 502,
    headers: { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) },
  })
}

/** What matching needs of a request body in OpenAI's dialect. Judging the rest of it is the witness's work. */
const bodySchema = z
  .object({
    model: z.string().nullable().catch(null),
    stream: z.boolean().catch(false),
    tools: z.array(z.unknown()).catch([]),
    messages: z.array(z.object({ role: z.unknown() })).catch([]),
  })
  .catch({ model: null, stream: false, tools: [], messages: [] })

async function read(request: Request): Promise<Pick<Asked, 'method' | 'model' | 'stream' | 'scenario'>> {
  const body = bodySchema.parse(await request.json().catch(() => null))
  return { method: request.method, model: body.model, stream: body.stream, scenario: scenarioOf(body) }
}

/** A model id `scenario-NAME` asks for the scenario by name; a first turn with tools is "tools"; all else "plain". */
function scenarioOf({ model, tools, messages }: z.infer<typeof bodySchema>): string {
  if (model?.startsWith('scenario-')) return model.slice('scenario-'.length)
  return tools.length > 0 && !messages.some(({ role }) => role === 'tool') ? 'tools' : 'plain'
}
