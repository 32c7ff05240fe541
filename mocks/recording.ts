// The recording format, version 1: how a head and its body file are read and checked.
// Knows files. Does not know requests, providers or MSW. The format is told in recordings/README.md.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'

/** The recordings that come with the package; the same step up from mocks/ and from dist/. */
export const ownRecordings = fileURLToPath(new URL('../recordings', import.meta.url))

/** The headers that a recording may keep: those a client acts on. The rest may name an account. */
export const isKeptHeader = (name: string): boolean =>
  /^(content-type|cache-control|retry-after|retry-after-ms|x-should-retry|(x-|apim-)?request-id|mistral-correlation-id|openai-version|openai-processing-ms|(x|anthropic)-ratelimit-[a-z-]+)$/.test(
    name,
  )

const headSchema = z.strictObject({
  format: z.literal(1),
  provider: z.string().min(1),
  endpoint: z.string().regex(/^[^/]/, 'has no slash in front: "chat/completions"'),
  request: z.strictObject({
    method: z.enum(['GET', 'POST']),
    path: z.string().startsWith('/'),
    model: z.string().min(1).nullable(),
    stream: z.boolean().nullable(),
    scenario: z.string().min(1),
  }),
  response: z.strictObject({
    status: z.int().min(200).max(599),
    headers: z.record(z.string(), z.string()).superRefine((headers, context) => {
      for (const name of Object.keys(headers))
        if (!isKeptHeader(name)) context.addIssue(`${name} is no header that a recording may keep`)
    }),
    body: z.string().regex(/^[\w.-]+$/, 'is a file name in the same folder'),
    chunks: z.array(z.tuple([z.int().positive(), z.number().nonnegative()])).min(1),
  }),
  origin: z.enum(['recorded', 'authored', 'synthetic']),
  date: z.iso.date(),
  api_version: z.string().min(1),
  shape: z.string().min(1),
  note: z.string().optional(),
})

/** One head as it stands in its file, checked. */
export type RecordingHead = z.infer<typeof headSchema>

/** One recorded interaction. `name` is its path without `.json` ("openai/chat-stream"), `bytes` its whole body. */
export type Recording = RecordingHead & { readonly name: string; readonly bytes: Uint8Array }

/**
 * Reads every recording below `dir`, sorted by name.
 * Throws one Error that lists every problem, a line each: file, field, what is wrong.
 */
export function readRecordings(dir: string = ownRecordings): Recording[] {
  const { recordings, problems } = scan(dir)
  if (problems.length > 0) throw new Error(`These recordings cannot be used:\n${problems.join('\n')}`)
  return recordings
}

/**
 * Everything that is wrong with the recordings below `dir`, a line each; empty when all is well.
 * Beyond what reading checks: no body file without a head, no two heads for one request, no credential.
 */
export function verifyRecordings(dir: string = ownRecordings): string[] {
  const { recordings, problems, files } = scan(dir)
  // While a head cannot be read, nobody knows which body is its own.
  const owned =
    problems.length > 0 ? files : recordings.flatMap((one) => [`${one.name}.json`, bodyFile(one.name, one)])
  for (const file of files) {
    if (!owned.includes(file) && file !== 'README.md')
      problems.push(`${file}: no recording names this file as its body; delete it or write its head`)
    const found = credential.exec(readFileSync(join(dir, file), 'latin1'))
    if (found) problems.push(`${file}: holds what looks like a credential at byte ${found.index}; redact it`)
  }
  const seen = new Map<string, string>()
  for (const { name, provider, endpoint, request } of recordings) {
    const { method, model, stream, scenario } = request
    const key = JSON.stringify([provider, method, endpoint, model, stream, scenario])
    const first = seen.get(key)
    if (first) problems.push(`${name}.json: request: answers the same request as ${first}.json`)
    else seen.set(key, name)
  }
  return problems
}

/** Shapes of keys, account ids and tokens of the providers and clouds whose traffic could end up here. */
const credential =
  /\b(?:sk|rk|pk|gsk|xai|hf|ghp|glpat)[-_][\w-]{16,}|\bBearer\s+(?!REDACTED)[\w.~+/-]{12,}|\b(?:org|proj|user)[-_][A-Za-z0-9]{16,}|\bAIza[\w-]{30,}|\bAKIA[A-Z0-9]{16}\b|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}/

function scan(dir: string): { recordings: Recording[]; problems: string[]; files: string[] } {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(dir, '/').length).replaceAll('\\', '/'))
    .sort()
  const recordings: Recording[] = []
  const problems: string[] = []
  for (const file of files.filter((name) => name.endsWith('.json') && !name.endsWith('.body.json'))) {
    const read = readOne(dir, file)
    if (Array.isArray(read)) problems.push(...read.map((problem) => `${file}: ${problem}`))
    else recordings.push(read)
  }
  return { recordings, problems, files }
}

/** A recording, or what is wrong with it. */
function readOne(dir: string, file: string): Recording | string[] {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(join(dir, file), 'utf8'))
  } catch (error) {
    return [`is not JSON: ${(error as Error).message}`]
  }
  const head = headSchema.safeParse(json)
  if (!head.success)
    return head.error.issues.map((issue) => `${issue.path.join('.') || 'head'}: ${issue.message}`)

  const name = file.slice(0, -'.json'.length)
  let bytes: Uint8Array
  try {
    bytes = readFileSync(join(dir, bodyFile(name, head.data)))
  } catch {
    return [`response.body: there is no file ${bodyFile(name, head.data)}`]
  }
  const sum = head.data.response.chunks.reduce((total, [length]) => total + length, 0)
  if (sum !== bytes.length)
    return [`response.chunks: add up to ${sum} bytes, but ${head.data.response.body} has ${bytes.length}`]
  if (head.data.provider !== dirname(name)) return [`provider: must be the folder's name, ${dirname(name)}`]
  return { ...head.data, name, bytes }
}

function bodyFile(name: string, head: RecordingHead): string {
  return posix.join(posix.dirname(name), head.response.body)
}
