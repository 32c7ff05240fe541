// Anthropic's files and batches of messages. A batch ends after two reads, and contains the address of its
// results. Uploaded files cannot be downloaded.
import { z } from 'zod'
import { clock } from '../../src/shared/clock.ts'
import { FormFile } from '../form.ts'
import type { Arrived, Endpoint, MockProvider, ObjectStore, Play } from '../provider.ts'
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

interface Batch {
  readonly id: string
  readonly requests: readonly { readonly custom_id: string; readonly params: unknown }[]
  readonly created_at: string
  readsLeft: number
  cancelled_at: string | null
  /** Lines of the batch's results; null until the batch has ended. */
  results: readonly { readonly custom_id: string; readonly result: { readonly type: string } }[] | null
  ended_at: string | null
}

type StoredFile = { readonly id: string } & Readonly<Record<string, unknown>>

/** Requests of a batch, with Anthropic's limits. */
const MAX_REQUESTS = 100_000

const isFile = z.custom<FormFile>((value) => value instanceof FormFile, 'Field required')

const endpoint = (
  method: Endpoint['method'],
  name: string,
  more: Partial<Pick<Endpoint, 'body' | 'takesForm'>> = {},
): Endpoint => ({
  ...{ method, name, body: null, speech: null, isKept: true },
  wants: () => ({ model: null, stream: false, usage: false, tools: false }),
  ...more,
})

export const anthropicObjectEndpoints: readonly Endpoint[] = [
  endpoint('POST', 'files', { takesForm: true, body: z.looseObject({ file: isFile }) }),
  endpoint('GET', 'files'),
  endpoint('GET', 'files/{id}/content'),
  endpoint('GET', 'files/{id}'),
  endpoint('DELETE', 'files/{id}'),
  endpoint('POST', 'messages/batches/{id}/cancel'),
  endpoint('POST', 'messages/batches', {
    body: z.looseObject({
      requests: z
        .array(z.looseObject({ custom_id: z.string().regex(/^[\w-]{1,64}$/), params: z.looseObject({}) }))
        .min(1)
        .max(MAX_REQUESTS),
    }),
  }),
  endpoint('GET', 'messages/batches/{id}/results'),
  endpoint('GET', 'messages/batches'),
  endpoint('GET', 'messages/batches/{id}'),
  endpoint('DELETE', 'messages/batches/{id}'),
]

export class AnthropicObjectStore implements ObjectStore {
  readonly #files = new KeptObjects<StoredFile>()
  readonly #batches = new KeptObjects<Batch>()
  readonly #refusal: MockProvider['refusal']

  constructor({ refusal }: Pick<MockProvider, 'refusal'>) {
    this.#refusal = refusal
  }

  #refuse(message: string) {
    return refusedWith(this.#refusal('invalid_request', message))
  }

  #missing(message: string) {
    return refusedWith(this.#refusal('unknown_path', message))
  }

  #addFile({ json }: Arrived, account: string | null) {
    const { file } = json as { file: FormFile }
    if (!/^[^<>:"|?*\\/\p{Cc}]{1,255}$/u.test(file.filename))
      return this.#refuse('file: The filename is not valid: 1 to 255 characters, without < > : " | ? * \\ /.')
    const stored = {
      ...{ id: objectId('file_', 24), type: 'file', filename: file.filename },
      ...{ mime_type: file.type || 'application/octet-stream', size_bytes: file.size },
      ...{ created_at: now(), downloadable: false },
    }
    this.#files.add(stored.id, account, stored)
    return keptAnswer(stored)
  }

  #aboutFile(id: string, part: string, method: string, account: string | null) {
    const file = this.#files.find(id, account)
    if (!file) return this.#missing(`File not found: ${id}`)
    if (method === 'DELETE') {
      this.#files.remove(id, account)
      return keptAnswer({ id, type: 'file_deleted' })
    }
    return part === '' ? keptAnswer(file) : this.#refuse(`File '${id}' is not downloadable.`)
  }

  #addBatch({ json, base }: Arrived, account: string | null) {
    const { requests } = json as Pick<Batch, 'requests'>
    const ids = new Set(requests.map(({ custom_id }) => custom_id))
    if (ids.size < requests.length)
      return this.#refuse('requests: custom_id values must be unique within a batch.')
    const batch: Batch = {
      ...{ id: objectId('msgbatch_', 24), requests, created_at: now(), readsLeft: READS_UNTIL_ENDED },
      ...{ cancelled_at: null, results: null, ended_at: null },
    }
    this.#batches.add(batch.id, account, batch, JSON.stringify(requests).length)
    return keptAnswer(shown(batch, base))
  }

  #aboutBatch(
    [, id = '', part = '']: RegExpExecArray,
    { method, base }: Arrived,
    account: string | null,
    play: Play,
  ) {
    const batch = this.#batches.find(id, account)
    if (!batch) return this.#missing(`Message batch '${id}' not found.`)
    if (part === '/results') {
      if (!batch.results) return this.#refuse('The batch has no results yet: it is still being processed.')
      const lines = batch.results.map((line) => `${JSON.stringify(line)}\n`).join('')
      return keptBytes(Buffer.from(lines), { 'content-type': 'application/x-jsonl' })
    }
    if (method === 'DELETE') {
      if (!batch.results) return this.#refuse('The batch is still being processed; cancel it first.')
      this.#batches.remove(id, account)
      return keptAnswer({ id, type: 'message_batch_deleted' })
    }
    if (part === '/cancel') batch.cancelled_at ??= batch.results ? null : now()
    else if (!batch.results && (batch.cancelled_at !== null || --batch.readsLeft <= 0)) end(batch, play)
    return keptAnswer(shown(batch, base))
  }

  #list(all: readonly { readonly id: string }[], { query }: Arrived) {
    const limit = numberIn(query, 'limit', 20, 1_000)
    if (limit === null) return this.#refuse('limit: Input should be between 1 and 1000')
    const [after, before] = [query.get('after_id'), query.get('before_id')]
    const page = pageAfter(before === null ? all : [...all].reverse(), after ?? before, limit)
    if (!page) return this.#refuse(`${after === null ? 'before_id' : 'after_id'}: Invalid cursor`)
    const data = before === null ? page.data : [...page.data].reverse()
    return keptAnswer({
      ...{ data, has_more: page.has_more },
      ...{ first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null },
    })
  }

  answer(request: Arrived, account: string | null, play: Play) {
    const { method, path, base } = request
    if (path === 'files')
      return method === 'GET'
        ? this.#list(this.#files.all(account), request)
        : this.#addFile(request, account)
    if (path === 'messages/batches')
      return method === 'GET'
        ? this.#list(
            this.#batches.all(account).map((batch) => shown(batch, base)),
            request,
          )
        : this.#addBatch(request, account)
    const file = /^files\/([\w-]+)(\/content)?$/.exec(path)
    if (file) return this.#aboutFile(file[1]!, file[2] ?? '', method, account)
    const batch = /^messages\/batches\/([\w-]+)(\/results|\/cancel)?$/.exec(path)
    return batch && this.#aboutBatch(batch, request, account, play)
  }
}

const now = (): string => new Date(clock.now()).toISOString()

/** Answers the requests of a batch; requests of a cancelled batch are not answered. */
function end(batch: Batch, play: Play): void {
  batch.ended_at = now()
  batch.results = batch.requests.map(({ custom_id, params }) => {
    if (batch.cancelled_at !== null) return { custom_id, result: { type: 'canceled' } }
    const { status, body } = play('messages', params)
    return status < 400
      ? { custom_id, result: { type: 'succeeded', message: body } }
      : { custom_id, result: { type: 'errored', error: body } }
  })
}

/** Returns a batch in its public form. */
function shown({ id, requests, created_at, cancelled_at, ended_at, results }: Batch, base: string) {
  const count = (type: string) => results?.filter(({ result }) => result.type === type).length ?? 0
  return {
    ...{ id, type: 'message_batch' },
    processing_status: results ? 'ended' : cancelled_at ? 'canceling' : 'in_progress',
    request_counts: {
      ...{ processing: results ? 0 : requests.length, succeeded: count('succeeded') },
      ...{ errored: count('errored'), canceled: count('canceled'), expired: 0 },
    },
    ...{ created_at, expires_at: new Date(Date.parse(created_at) + 86_400_000).toISOString() },
    ...{ ended_at, archived_at: null, cancel_initiated_at: cancelled_at },
    results_url: results ? `${base}/messages/batches/${id}/results` : null,
  }
}
