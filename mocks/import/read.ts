// Picks the reader of a foreign recording by the file's name and its first lines.
import { ZodError } from 'zod'
import { readGoVcr } from './go-vcr.ts'
import { readHar } from './har.ts'
import type { Interaction } from './interaction.ts'
import { readRubyVcr } from './ruby-vcr.ts'
import { readVcrpy } from './vcrpy.ts'

/** Throws, with the file's name in front, when no reader knows the format or the file does not keep to it. */
export function readForeign(file: string, text: string): Interaction[] {
  const read = reader(file, text)
  if (!read) throw new Error(`${file}: no known recording format (vcrpy, Ruby VCR, go-vcr, HAR)`)
  try {
    return read(text)
  } catch (cause) {
    throw new Error(`${file}: ${reasonOf(cause)}`, { cause })
  }
}

/** In one line; where a file keeps to no format the first place says enough. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof ZodError))
    return (cause as Error).message.replace(/\s*\n[\s\S]*$/, '').replace(/:$/, '')
  const [{ path, message }] = cause.issues as [ZodError['issues'][0]]
  return `${path.join('.') || 'the whole'}: ${message}`
}

function reader(file: string, text: string): ((text: string) => Interaction[]) | undefined {
  if (/\.har$/i.test(file)) return readHar
  if (!/\.ya?ml$/i.test(file)) return undefined
  if (/^http_interactions:/m.test(text)) return readRubyVcr
  // go-vcr writes its version first, vcrpy last; both call the list by the same name.
  if (/^version: 2$/m.test(text)) return readGoVcr
  return /^interactions:/m.test(text) ? readVcrpy : undefined
}
