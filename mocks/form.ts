// Reads the body of a form with files as a provider does: one member for each name, and a list for a repeated
// name. Independent of providers.
import { hash } from 'node:crypto'

/** File in a form. Its JSON shows everything except the bytes. */
export class FormFile {
  readonly filename: string
  readonly type: string
  readonly size: number
  readonly sha256: string
  readonly #bytes: Uint8Array

  constructor(filename: string, type: string, bytes: Uint8Array) {
    this.filename = filename
    this.type = type
    this.size = bytes.length
    this.sha256 = hash('sha256', bytes)
    this.#bytes = bytes
  }

  bytes(): Uint8Array {
    return this.#bytes
  }
}

export type Form = Readonly<Record<string, unknown>>

/** Reads a form; returns null if the body is not a form or is malformed. */
export async function readForm(
  body: Uint8Array | null,
  contentType: string | undefined,
): Promise<Form | null> {
  if (body === null || !/^multipart\/form-data\b/i.test(contentType ?? '')) return null
  const response = new Response(new Uint8Array(body), { headers: { 'content-type': contentType! } })
  const data = await response.formData().catch(() => null)
  if (data === null) return null
  const form: Record<string, unknown> = Object.create(null)
  for (const name of new Set(data.keys())) {
    const values = await Promise.all(data.getAll(name).map(readValue))
    form[name] = values.length === 1 ? values[0] : values
  }
  return { ...form }
}

const readValue = async (value: string | File): Promise<unknown> =>
  typeof value === 'string' ? value : new FormFile(value.name, value.type, await value.bytes())
