// OpenAI's files and batches. A file is stored for its account, and a batch ends after two reads. The mock
// answers each line of a batch's file like a single request, and writes the answers to an output file.
import { z } from 'zod'
import { clock } from '../../src/shared/clock.ts'
import { openAiRefusal, openAiWants } from '../dialects/openai-chat.ts'
import { FormFile } from '../form.ts'
import type { Arrived, Endpoint, ObjectStore, Play } from '../provider.ts'
import {
  KeptObjects,
  keptAnswer,
  keptBytes,
  numberIn,
  objectId,
  pageAfter,
  READS_UNTIL_ENDED,
  refusedWith,
} from './kept.ts'

interface StoredFile {
  readonly id: string
  readonly object: 'file'
  readonly bytes: number
  readonly created_at: number
  readonly filename: string
  readonly purpose: string
  readonly status: 'processed'
}

type FileWithContent = StoredFile & { readonly content: Uint8Array }

interface Batch {
  readonly id: string
  readonly endpoint: string
  readonly input_file_id: string
  readonly metadata: unknown
  readonly created_at: number
  readonly lines: readonly BatchLine[] | { readonly errors: readonly LineError[] }
  readsLeft: number
  isCancelled: boolean
  /** Set when the batch has ended. */
  ended: object | null
}

interface BatchLine {
  readonly custom_id: string
  readonly url: string
  readonly body: Readonly<Record<string, unknown>>
}

interface LineError {
  readonly code: string
  readonly message: string
  readonly line: number | null
}

/** Requests of a batch, with OpenAI's limits. */
const MAX_LINES = 50_000

const PURPOSES = ['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'] as const
const BATCHED = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/moderations',
  '/v1/responses',
] as const

const isFile = z.custom<FormFile>((value) => value instanceof FormFile, 'Expected a file')

const endpoint = (
  method: Endpoint['method'],
  name: string,
  more: Partial<Pick<Endpoint, 'body' | 'takesForm'>> = {},
): Endpoint => ({ method, name, body: null, wants: openAiWants, speech: null, isKept: true, ...more })

export const openAiObjectEndpoints: readonly Endpoint[] = [
  endpoint('POST', 'files', {
    takesForm: true,
    body: z.looseObject({ file: isFile, purpose: z.enum(PURPOSES) }),
  }),
  endpoint('GET', 'files'),
  endpoint('GET', 'files/{id}/content'),
  endpoint('GET', 'files/{id}'),
  endpoint('DELETE', 'files/{id}'),
  endpoint('POST', 'batches/{id}/cancel'),
  endpoint('POST', 'batches', {
    body: z.looseObject({
      input_file_id: z.string(),
      endpoint: z.enum(BATCHED),
      completion_window: z.enum(['24h']),
      metadata: z.record(z.string(), z.string()).nullish(),
    }),
  }),
  endpoint('GET', 'batches'),
  endpoint('GET', 'batches/{id}'),
]

const refuse = (message: string, param: string | null = null, status = 400) => {
  const refusal = openAiRefusal('invalid_request', message, param ?? undefined)
  return refusedWith({ ...refusal, status })
}

export class OpenAiObjectStore implements ObjectStore {
  readonly #files = new KeptObjects<FileWithContent>()
  readonly #batches = new KeptObjects<Batch>()

  #store(content: Uint8Array, filename: string, purpose: string, account: string | null) {
    const file: FileWithContent = {
      ...{ id: objectId('file-', 22), object: 'file', bytes: content.length, created_at: seconds() },
      ...{ filename, purpose, status: 'processed', content },
    }
    this.#files.add(file.id, account, file, content.length)
    return file
  }

  #aboutFile(id: string, part: string, method: string, account: string | null) {
    const file = this.#files.find(id, account)
    if (!file) return refuse(`No such File object: ${id}`, 'id', 404)
    if (method === 'DELETE') {
      this.#files.remove(id, account)
      return keptAnswer({ id, object: 'file', deleted: true })
    }
    if (part === '') return keptAnswer(shown(file))
    if (!/^(batch|batch_output|fine-tune|evals)$/.test(file.purpose))
      return refuse(`Not allowed to download files of purpose: ${file.purpose}`)
    return keptBytes(file.content, {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${file.filename.replace(/[^\w.-]/g, '_')}"`,
    })
  }

  #addFile({ json }: Arrived, account: string | null) {
    const { file, purpose } = json as { file: FormFile; purpose: string }
    return keptAnswer(shown(this.#store(file.bytes(), file.filename, purpose, account)))
  }

  #addBatch({ json }: Arrived, account: string | null) {
    const { endpoint, input_file_id, metadata } = json as Record<'endpoint' | 'input_file_id', string> & {
      metadata?: unknown
    }
    const file = this.#files.find(input_file_id, account)
    if (!file) return refuse(`No such File object: ${input_file_id}`, 'input_file_id', 404)
    if (file.purpose !== 'batch')
      return refuse(`The purpose of '${input_file_id}' is not 'batch'.`, 'input_file_id')
    const batch: Batch = {
      ...{ id: objectId('batch_', 32), endpoint, input_file_id, metadata: metadata ?? null },
      ...{ created_at: seconds(), lines: linesOf(file.content, endpoint) },
      ...{ readsLeft: READS_UNTIL_ENDED, isCancelled: false, ended: null },
    }
    this.#batches.add(batch.id, account, batch)
    return keptAnswer(batchAs(batch, 'validating'))
  }

  /** Answers the requests of a batch, and stores the results. */
  #end(batch: Batch, account: string | null, play: Play) {
    const { lines } = batch
    if ('errors' in lines)
      return batchAs(batch, 'failed', {
        failed_at: seconds(),
        errors: { object: 'list', data: lines.errors },
      })
    const results = lines.map(({ custom_id, url, body }) => {
      const { status, body: answer } = play(url.replace(/^\/v1\//, ''), body)
      const response = { status_code: status, request_id: objectId('req_', 16), body: answer }
      return { id: objectId('batch_req_', 24), custom_id, response, error: null }
    })
    const [good, bad] = [true, false].map((isGood) =>
      results.filter(({ response }) => response.status_code < 400 === isGood),
    ) as [typeof results, typeof results]
    const fileOf = (those: typeof results, kind: string) =>
      those.length === 0
        ? null
        : this.#store(
            Buffer.from(those.map((each) => `${JSON.stringify(each)}\n`).join('')),
            `${batch.id}_${kind}.jsonl`,
            'batch_output',
            account,
          ).id
    return batchAs(batch, 'completed', {
      ...{ completed_at: seconds(), model: modelOf(good.map(({ response }) => response.body)) },
      ...{ output_file_id: fileOf(good, 'output'), error_file_id: fileOf(bad, 'error') },
      request_counts: { total: results.length, completed: good.length, failed: bad.length },
      usage: usageOf(good.map(({ response }) => response.body)),
    })
  }

  #aboutBatch([, id = '', part = '']: RegExpExecArray, account: string | null, play: Play) {
    const batch = this.#batches.find(id, account)
    if (!batch) return refuse(`No batch found with id '${id}'.`, 'id', 404)
    if (batch.ended)
      return part
        ? refuse(`Cannot cancel a batch with status '${(batch.ended as Batch & { status: string }).status}'.`)
        : keptAnswer(batch.ended)
    if (part) {
      batch.isCancelled = true
      return keptAnswer(batchAs(batch, 'cancelling', { cancelling_at: seconds() }))
    }
    if (batch.isCancelled) batch.ended = batchAs(batch, 'cancelled', { cancelled_at: seconds() })
    else if (--batch.readsLeft <= 0 || 'errors' in batch.lines) batch.ended = this.#end(batch, account, play)
    return keptAnswer(batch.ended ?? batchAs(batch, 'in_progress', { in_progress_at: seconds() }))
  }

  #list({ path, query }: Arrived, account: string | null) {
    const limit = numberIn(query, 'limit', path === 'files' ? 10_000 : 20, path === 'files' ? 10_000 : 100)
    if (limit === null) return refuse("Invalid 'limit'.", 'limit')
    const [purpose, order] = [query.get('purpose'), query.get('order')]
    const all: readonly (StoredFile | (object & { id: string }))[] =
      path === 'files'
        ? this.#files
            .all(account)
            .filter((file) => purpose === null || file.purpose === purpose)
            .map(shown)
        : this.#batches.all(account).map((batch) => (batch.ended ?? batchAs(batch, 'in_progress')) as Batch)
    const page = pageAfter(order === 'asc' ? [...all].reverse() : all, query.get('after'), limit)
    if (!page) return refuse(`No such object: ${query.get('after')}`, 'after')
    const { data } = page
    return keptAnswer({
      object: 'list',
      ...page,
      ...{ first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null },
    })
  }

  answer(request: Arrived, account: string | null, play: Play) {
    const { method, path } = request
    if (path === 'files')
      return method === 'GET' ? this.#list(request, account) : this.#addFile(request, account)
    if (path === 'batches')
      return method === 'GET' ? this.#list(request, account) : this.#addBatch(request, account)
    const file = /^files\/([\w-]+)(\/content)?$/.exec(path)
    if (file) return this.#aboutFile(file[1]!, file[2] ?? '', method, account)
    const batch = /^batches\/([\w-]+)(\/cancel)?$/.exec(path)
    return batch && this.#aboutBatch(batch, account, play)
  }
}

const seconds = (): number => Math.floor(clock.now() / 1000)

const shown = ({ content: _, ...file }: FileWithContent): StoredFile => file

/** Returns a batch in its public form. */
function batchAs(
  { id, endpoint, input_file_id, metadata, created_at, lines }: Batch,
  status: string,
  more = {},
) {
  const total = 'errors' in lines ? 0 : lines.length
  return {
    ...{ id, object: 'batch', endpoint, errors: null, input_file_id, completion_window: '24h', status },
    ...{ output_file_id: null, error_file_id: null, created_at, in_progress_at: null },
    ...{ expires_at: created_at + 86_400, finalizing_at: null, completed_at: null, failed_at: null },
    ...{ expired_at: null, cancelling_at: null, cancelled_at: null },
    ...{ request_counts: { total: status === 'validating' ? 0 : total, completed: 0, failed: 0 }, metadata },
    ...more,
  }
}

/** Returns the requests in a batch's file, or their problems. */
function linesOf(content: Uint8Array, endpoint: string): Batch['lines'] {
  const texts = new TextDecoder().decode(content).split('\n')
  if (texts.at(-1) === '') texts.pop()
  if (texts.length === 0)
    return { errors: [{ code: 'empty_file', message: 'The input file is empty.', line: null }] }
  if (texts.length > MAX_LINES) {
    const message = `The batch has ${texts.length} requests, but at most ${MAX_LINES} are allowed.`
    return { errors: [{ code: 'too_many_tasks', message, line: null }] }
  }
  const ids = new Set<string>()
  const lines: BatchLine[] = []
  const errors: LineError[] = []
  for (const [at, text] of texts.entries()) {
    const read = lineOf(text, endpoint, ids)
    if ('code' in read) errors.push({ ...read, line: at + 1 })
    else lines.push(read)
  }
  return errors.length > 0 ? { errors: errors.slice(0, 100) } : lines
}

const lineSchema = z.object({
  custom_id: z.string().min(1),
  method: z.literal('POST'),
  url: z.string(),
  body: z.looseObject({}),
})

function lineOf(text: string, endpoint: string, ids: Set<string>): BatchLine | Omit<LineError, 'line'> {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return { code: 'invalid_json_line', message: 'This line is not parseable as valid JSON.' }
  }
  const { data, error } = lineSchema.safeParse(json)
  if (!data) {
    const field = error.issues[0]?.path[0] ?? 'body'
    return {
      code: 'missing_required_parameter',
      message: `Missing or invalid parameter: '${String(field)}'.`,
    }
  }
  if (data.url !== endpoint)
    return { code: 'invalid_url', message: 'The URL of this request is not the endpoint of the batch.' }
  if (ids.has(data.custom_id))
    return { code: 'duplicate_custom_id', message: `The custom_id '${data.custom_id}' is there twice.` }
  ids.add(data.custom_id)
  return data
}

type Usage = Readonly<Record<string, unknown>>

const modelOf = (bodies: readonly unknown[]): string | null =>
  bodies.map((body) => (body as { model?: unknown }).model).find((model) => typeof model === 'string') ?? null

/** Returns the sum of the answers' usage in the format of a batch. */
function usageOf(bodies: readonly unknown[]) {
  const all = bodies.map((body) => ((body as { usage?: Usage }).usage ?? {}) as Usage)
  const sum = (...names: string[]) =>
    all.reduce(
      (total, usage) => total + Number(names.map((name) => usage[name]).find(Number.isFinite) ?? 0),
      0,
    )
  const detail = (members: string[], name: string) =>
    all.reduce((total, usage) => {
      const details = members.map((member) => usage[member]).find((each) => typeof each === 'object')
      return total + Number((details as Usage | null | undefined)?.[name] ?? 0)
    }, 0)
  const input_tokens = sum('prompt_tokens', 'input_tokens')
  const output_tokens = sum('completion_tokens', 'output_tokens')
  return {
    input_tokens,
    input_tokens_details: {
      cached_tokens: detail(['prompt_tokens_details', 'input_tokens_details'], 'cached_tokens'),
    },
    output_tokens,
    output_tokens_details: {
      reasoning_tokens: detail(['completion_tokens_details', 'output_tokens_details'], 'reasoning_tokens'),
    },
    total_tokens: input_tokens + output_tokens,
  }
}
