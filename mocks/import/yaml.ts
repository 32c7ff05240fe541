// YAML as recorders write it: base64 scalars under `!binary` (Ruby) and `!!binary` (Python, Go) become Buffers.
import { parse } from 'yaml'
import { z } from 'zod'

/** Throws a YAMLParseError with line and column. */
export function parseYaml(text: string): unknown {
  return parse(text, {
    customTags: ['!binary', 'tag:yaml.org,2002:binary'].map((tag) => ({
      tag,
      resolve: (base64: string) => Buffer.from(base64, 'base64'),
    })),
  })
}

/** A body, text or bytes. */
export const body = z.union([z.string(), z.instanceof(Buffer)])

/** Header names with lists of values. */
export const headerLists = z
  .record(z.string(), z.array(z.string()))
  .nullish()
  .transform((lists) => lists ?? {})

/** A request body is text, also where the recorder kept it as bytes. */
export const toText = (value: string | Buffer): string => value.toString()

/** A response body is bytes, also where the recorder kept it as text. */
export const toBytes = (value: string | Buffer): Buffer =>
  typeof value === 'string' ? Buffer.from(value) : value
