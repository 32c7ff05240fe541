// Recording format, versions 1 and 2: the schema, and the reader of the JSON file and its body file.
// Independent of requests, providers and MSW. recordings/README.md describes the format.
import { type Dirent, readdirSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { z } from 'zod'
import { readInside } from '../../src/shared/bounded.ts'
import { packageFile } from '../../src/shared/package-root.ts'
import { predicateSchema } from '../matching/conversation.ts'
import { saidSchema } from '../matching/digest.ts'

/** Maximum bytes of a file that is read. */
export const MAX_FILE_BYTES = 128 * 2 ** 20

/** Folder of the digest key and the masks, inside a folder of recordings. */
export const SETTINGS_FOLDER = '.waybill'

/** Directory of the recordings that come with the package. */
export const ownRecordings = packageFile('recordings')

/**
 * Returns true for headers that a recording may contain: headers that clients act on. Other headers may name
 * an account.
 */
export const isKeptHeader = (name: string): boolean =>
  /^(content-type|cache-control|retry-after|retry-after-ms|x-should-retry|(x-|apim-)?request-id|mistral-correlation-id|openai-version|openai-processing-ms|(x|anthropic)-ratelimit-(?=[a-z-]*(limit|remaining|reset|cost))[a-z-]+)$/.test(
    name,
  )

const headShape = z.strictObject({
  format: z
    .literal([1, 2], { error: 'is neither 1 nor 2; upgrade Waybill if a newer one wrote it' })
    .describe('2 for a recording with its answer.'),
  provider: z.string().min(1).describe("The folder's name."),
  endpoint: z
    .string()
    .regex(/^[^/]/, 'has no slash in front: "chat/completions"')
    .describe("The path below the provider's base path."),
  request: z.strictObject({
    method: z.enum(['GET', 'POST']),
    path: z.string().startsWith('/').describe("Full path at the provider's own host, without the query."),
    model: z.string().min(1).nullable().describe('The model id that the recording answers; null: any.'),
    stream: z.boolean().nullable().describe('True if a stream was requested; null: either.'),
    scenario: z.string().min(1),
    order: z
      .int()
      .min(2)
      .optional()
      .describe(
        'The recording answers from this request of its kind on, until one with a higher order does.',
      ),
    fields: z
      .record(z.string(), z.int().nonnegative())
      .optional()
      .describe(
        "The request's fields: name, and size of the value as JSON in bytes. Unknown names are blanked.",
      ),
    said: saidSchema
      .optional()
      .describe('Keyed digests of the content of the request, by which the recording is found. Format 2.'),
    asked: z
      .strictObject({
        headers: z.record(z.string(), z.string()).describe('Headers on which the answer depends.'),
        body: z.record(z.string(), z.unknown()),
      })
      .optional()
      .describe('The request itself, with --keep-requests, so that it can be repeated. Format 2.'),
    when: predicateSchema
      .optional()
      .describe(
        'Handwritten conditions on the content of the request: the recording answers if they match. Format 2.',
      ),
  }),
  response: z.strictObject({
    status: z.int().min(200).max(599),
    headers: z.record(z.string(), z.string()).superRefine((headers, context) => {
      for (const name of Object.keys(headers))
        if (!isKeptHeader(name))
          context.addIssue(`${name} is not a header that a recording may keep; remove it`)
    }),
    body: z.string().regex(/^[\w.-]+$/, 'must be a file name in the same folder'),
    chunks: z
      .array(z.tuple([z.int().positive(), z.number().nonnegative()]))
      .min(1)
      .describe('Bytes of each chunk, and ms before it. The sum of the bytes is the size of the body.'),
  }),
  origin: z.enum(['recorded', 'authored', 'synthetic']),
  date: z.iso.date(),
  api_version: z.string().min(1),
  shape: z.string().min(1).describe('Source of the structure.'),
  note: z.string().optional(),
  redaction: z
    .strictObject({
      version: z.literal(1),
      keeps: z.literal('answer').optional().describe('The words of the model were not replaced. Format 2.'),
      folder: z
        .int()
        .positive()
        .optional()
        .describe('Bytes of the placeholder for the folder in which the program ran. Format 2.'),
      replaced: z.int().nonnegative().describe("Bytes of the answer's body that were replaced."),
      blanked: z
        .record(z.string(), z.int().positive())
        .optional()
        .describe('Kinds of values that were replaced although the answer is kept, and how many. Format 2.'),
      looked_for: z
        .int()
        .nonnegative()
        .describe('Number of credentials, ids and words of the exchange that were searched for afterwards.'),
      found: z.literal(0).describe('Number of those that were found. A recording with any is not written.'),
    })
    .optional()
    .describe('Proof that private data is gone; every recorded exchange has it.'),
})

const headSchema = headShape
  .refine(({ origin, redaction }) => origin !== 'recorded' || redaction, {
    path: ['redaction'],
    message: 'is missing, so it is unknown whether it was redacted; record or import it again',
  })
  .refine(
    ({ format, request: { said, asked, when }, redaction }) =>
      format === 2 || !(said || asked || when || redaction?.keeps),
    {
      path: ['format'],
      message: 'is 1, but the recording has members of format 2; change it to 2',
    },
  )

/**
 * Returns the JSON Schema of a recording's JSON file, for editors and other programs; it is written to
 * docs/recording.schema.json.
 */
export const recordingJsonSchema = (): object => z.toJSONSchema(headShape, { io: 'input' })

/** Validated JSON file of a recording. */
export type RecordingHead = z.infer<typeof headSchema>

/**
 * Recorded interaction. `name` is its path without `.json` ("openai/chat-stream"), `bytes` its whole body.
 */
export type Recording = RecordingHead & { readonly name: string; readonly bytes: Uint8Array }

let packaged: readonly Recording[] | undefined

/**
 * Reads every recording below `dir`, sorted by name; the package's own only once in a process. Throws one Error
 * that lists every problem on its own line, with file and field.
 */
export function readRecordings(dir: string = ownRecordings): readonly Recording[] {
  if (dir !== ownRecordings) return readAll(dir)
  packaged ??= Object.freeze(readAll(dir))
  return packaged
}

function readAll(dir: string): Recording[] {
  const { recordings, problems } = scanRecordings(dir)
  if (problems.length > 0) throw new Error(`These recordings cannot be used:\n${problems.join('\n')}`)
  return recordings
}

/** Scans `dir`: the readable recordings, the problems of the other recordings, and the name of every file. */
export function scanRecordings(dir: string): {
  recordings: Recording[]
  problems: string[]
  files: string[]
} {
  const files = filesBelow(dir)
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(dir, '/').length).replaceAll('\\', '/'))
    .filter((name) => !name.startsWith(`${SETTINGS_FOLDER}/`))
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

function filesBelow(dir: string): Dirent[] {
  try {
    return readdirSync(dir, { recursive: true, withFileTypes: true })
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const what = code === 'ENOENT' ? 'it does not exist' : code === 'ENOTDIR' ? 'it is a file' : message
    throw new Error(`${dir} is not a folder of recordings: ${what}; name the folder that holds them`, {
      cause,
    })
  }
}

/** Returns a recording or its problems. */
function readOne(dir: string, file: string): Recording | string[] {
  let json: unknown
  try {
    json = JSON.parse(readInside(dir, file, MAX_FILE_BYTES).toString('utf8'))
  } catch (error) {
    return [`is not JSON: ${(error as Error).message}; repair or delete it`]
  }
  const head = headSchema.safeParse(json)
  if (!head.success)
    return head.error.issues.map(({ path, message, code }) => {
      const remedy = code === 'custom' ? '' : '; recordings/README.md describes the format'
      return `${path.join('.') || 'head'}: ${message}${remedy}`
    })

  const name = file.slice(0, -'.json'.length)
  let bytes: Uint8Array
  try {
    bytes = readInside(dir, bodyFile(name, head.data), MAX_FILE_BYTES)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined)
      return [`response.body: ${bodyFile(name, head.data)} ${(error as Error).message}`]
    return [
      `response.body: there is no file ${bodyFile(name, head.data)}; delete the head, or record it again`,
    ]
  }
  const sum = head.data.response.chunks.reduce((total, [length]) => total + length, 0)
  if (sum !== bytes.length)
    return [
      `response.chunks: add up to ${sum} bytes, but ${head.data.response.body} has ${bytes.length}; correct the one that was changed`,
    ]
  if (head.data.provider !== dirname(name)) return [`provider: must be the folder's name, ${dirname(name)}`]
  return { ...head.data, name, bytes }
}

/** Returns the path of a recording's body, relative to the folder of all recordings. */
export function bodyFile(name: string, head: RecordingHead): string {
  return posix.join(posix.dirname(name), head.response.body)
}
