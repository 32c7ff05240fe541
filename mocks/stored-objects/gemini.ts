// Gemini's files. A request begins an upload and returns its address, to which the client sends one or more
// parts. A missing file is a 403, as at Google. Uploaded files cannot be downloaded.
import { hash } from 'node:crypto'
import { z } from 'zod'
import { clock } from '../../src/shared/clock.ts'
import type { Arrived, Endpoint, ObjectStore } from '../provider.ts'
import { KeptObjects, keptAnswer, numberIn, objectId, refusedWith } from './kept.ts'

interface StoredFile {
  readonly name: string
  readonly [member: string]: unknown
}

interface Upload {
  readonly file: Readonly<Record<string, unknown>>
  readonly mimeType: string
  received: Buffer
}

/** Maximum bytes of an unfinished upload. */
const MAX_UPLOAD_BYTES = 64 * 2 ** 20

const endpoint = (method: Endpoint['method'], name: string): Endpoint => ({
  ...{ method, name, body: null, speech: null, isKept: true },
  wants: () => ({ model: null, stream: false, usage: false, tools: false }),
})

export const geminiObjectEndpoints: readonly Endpoint[] = [
  endpoint('POST', 'files'),
  endpoint('PUT', 'files'),
  endpoint('GET', 'files'),
  endpoint('GET', 'files/{id}:download'),
  endpoint('GET', 'files/{id}'),
  endpoint('DELETE', 'files/{id}'),
]

const refuse = (message: string, code = 400, status = 'INVALID_ARGUMENT') =>
  refusedWith({ status: code, headers: {}, body: { error: { code, message, status } } })

const fileMembers = z
  .object({ file: z.object({ name: z.string().optional(), displayName: z.string().optional() }).optional() })
  .catch({})

export class GeminiObjectStore implements ObjectStore {
  readonly #files = new KeptObjects<StoredFile>()
  readonly #uploads = new KeptObjects<Upload>()

  #begin({ headers, json, base }: Arrived, account: string | null) {
    if (headers['x-goog-upload-protocol'] !== 'resumable')
      return refuse('This mock takes uploads of the protocol "resumable" only.')
    const { file = {} } = fileMembers.parse(json)
    if (file.name !== undefined && !/^(files\/)?[a-z\d][a-z\d-]{0,39}$/.test(file.name))
      return refuse('* CreateFileRequest.file.name: must be lowercase letters, digits and dashes.')
    const id = objectId('upload-', 40)
    const mimeType = headers['x-goog-upload-header-content-type'] ?? 'application/octet-stream'
    this.#uploads.add(id, account, { file, mimeType, received: Buffer.alloc(0) })
    return keptAnswer(
      {},
      {
        ...{ 'x-goog-upload-status': 'active', 'x-goog-upload-chunk-granularity': '8388608' },
        'x-goog-upload-url': `${base}/files?upload_id=${id}&upload_protocol=resumable`,
      },
    )
  }

  #goOn(id: string, { headers, bytes, base }: Arrived, account: string | null) {
    const upload = this.#uploads.find(id, account)
    if (!upload) return refuse('Upload not found.', 404, 'NOT_FOUND')
    const command = headers['x-goog-upload-command'] ?? ''
    if (command === 'query')
      return keptAnswer(
        {},
        {
          ...{ 'x-goog-upload-status': 'active' },
          'x-goog-upload-size-received': String(upload.received.length),
        },
      )
    if (!/\b(upload|finalize)\b/.test(command)) return refuse(`Unknown upload command: ${command}`)
    if (Number(headers['x-goog-upload-offset'] ?? 0) !== upload.received.length)
      return refuse(`The offset does not match: ${upload.received.length} bytes were received.`)
    if (upload.received.length + bytes.length > MAX_UPLOAD_BYTES) return refuse('The upload is too large.')
    upload.received = Buffer.concat([upload.received, bytes])
    if (!command.includes('finalize')) return keptAnswer({}, { 'x-goog-upload-status': 'active' })
    this.#uploads.remove(id, account)
    const file = fileOf(upload, base.replace('/upload/', '/'))
    this.#files.add(file.name, account, file)
    return keptAnswer({ file }, { 'x-goog-upload-status': 'final' })
  }

  #list({ query }: Arrived, account: string | null) {
    const size = numberIn(query, 'pageSize', 10, 100)
    if (size === null) return refuse('* ListFilesRequest.page_size: must be within 1 and 100.')
    const from = Number(query.get('pageToken') ?? 0)
    const all = this.#files.all(account)
    if (!Number.isInteger(from)) return refuse('* ListFilesRequest.page_token: is not valid.')
    const end = from + size
    return keptAnswer({
      ...(all.length > from && { files: all.slice(from, end) }),
      ...(all.length > end && { nextPageToken: String(end) }),
    })
  }

  #aboutFile(name: string, isContent: boolean, method: string, account: string | null) {
    const file = this.#files.find(name, account)
    if (!file) {
      const message = `You do not have permission to access the File ${name.slice(6)} or it may not exist.`
      return refuse(message, 403, 'PERMISSION_DENIED')
    }
    if (isContent) return refuse('Only files that Google made can be downloaded.')
    if (method !== 'DELETE') return keptAnswer(file)
    this.#files.remove(name, account)
    return keptAnswer({})
  }

  answer(request: Arrived, account: string | null) {
    const { method, path, query } = request
    if (path === 'files') {
      if (method === 'GET') return this.#list(request, account)
      const upload = query.get('upload_id')
      return upload === null ? this.#begin(request, account) : this.#goOn(upload, request, account)
    }
    const file = /^(files\/[\w-]+)(:download)?$/.exec(path)
    return file && this.#aboutFile(file[1]!, file[2] !== undefined, method, account)
  }
}

function fileOf({ file, mimeType, received }: Upload, base: string): StoredFile {
  const name = typeof file.name === 'string' ? file.name.replace(/^(files\/)?/, 'files/') : null
  const id = name ?? objectId('files/', 12).toLowerCase()
  const at = clock.now()
  const time = (ms: number) => new Date(ms).toISOString()
  return {
    name: id,
    ...(file.displayName !== undefined && { displayName: file.displayName }),
    ...{ mimeType, sizeBytes: String(received.length), createTime: time(at), updateTime: time(at) },
    expirationTime: time(at + 48 * 3_600_000),
    sha256Hash: Buffer.from(hash('sha256', received)).toString('base64'),
    ...{ uri: `${base}/${id}`, state: 'ACTIVE', source: 'UPLOADED' },
  }
}
