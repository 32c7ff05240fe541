// Media types of images and documents in requests, as providers accept them. The content decides and not the label.
import { acceptsImage, usualMediaType } from '../models/requests.ts'
import type { Source } from './blocks.ts'

/** Beginnings of files in base64. */
const BEGINNINGS: readonly (readonly [RegExp, string])[] = [
  [/^\/9j\//, 'image/jpeg'],
  [/^iVBORw0KGgo/, 'image/png'],
  [/^R0lGOD/, 'image/gif'],
  [/^UklGR.{6,7}XRUJQ/, 'image/webp'],
  [/^JVBERi0/, 'application/pdf'],
]

/** Returns a source with its usual media type. `image/jpg` becomes `image/jpeg`, and a JPEG that is labelled PNG, too. */
export function typedSource<Given extends Source>(source: Given): Given {
  if (source.kind === 'base64') {
    const usual = usualMediaType(source.mediaType)
    const isMedia = usual === '' || /^(image|application)\//.test(usual)
    const found = isMedia ? BEGINNINGS.find(([beginning]) => beginning.test(source.data))?.[1] : undefined
    return { ...source, mediaType: found ?? usual }
  }
  return source.kind === 'url' && source.mediaType
    ? { ...source, mediaType: usualMediaType(source.mediaType) }
    : source
}

/** Returns false for an image that providers of the dialect refuse. */
export const isAcceptedImage = (dialect: string, source: Source): boolean =>
  source.kind !== 'base64' || acceptsImage(dialect, source.mediaType)
