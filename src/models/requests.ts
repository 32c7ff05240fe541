// What providers accept in requests: types of images and subsets of JSON Schema. Reads requests.yaml. Independent of
// dialects, which are only names here.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { packageFile } from '../shared/package-root.ts'

const words = z.array(z.string().min(1)).min(1)
const subset = z.strictObject({
  of: z.enum(['anthropic', 'gemini', 'openai']),
  /** Accepted members of a schema. */
  words,
  /** Accepted values of `format`; absent if any is accepted. */
  formats: words.optional(),
  open: z.boolean(),
  allRequired: z.boolean(),
  sources: z.array(z.url()).min(1),
})
const file = z.strictObject({
  aliases: z.record(z.string(), z.string()),
  images: z.array(z.strictObject({ dialect: z.string(), accepts: words, source: z.url() })),
  schemas: z.array(subset),
})

/** A subset of JSON Schema. */
export type SchemaSubset = z.output<typeof subset>

let read: z.output<typeof file> | undefined

const facts = () =>
  (read ??= file.parse(parse(readFileSync(packageFile('src/models/requests.yaml'), 'utf8'))))

/** Returns the subset of JSON Schema that a provider accepts. */
export const schemaSubset = (of: SchemaSubset['of']): SchemaSubset =>
  facts().schemas.find((each) => each.of === of)!

/** Returns a media type in its usual spelling, without parameters. */
export function usualMediaType(label: string): string {
  const type = label.split(';', 1)[0]!.trim().toLowerCase()
  const { aliases } = facts()
  return Object.hasOwn(aliases, type) ? aliases[type]! : type
}

/** Returns true if providers of a dialect accept images of a type. */
export const acceptsImage = (dialect: string, mediaType: string): boolean =>
  facts()
    .images.find((each) => each.dialect === dialect)
    ?.accepts.includes(mediaType) ?? true
