// References in Gemini requests to state that Google stores. Names may be in camelCase or snake_case. Format:
// Gemini API reference, "Caching", "Files", "File search".
import { type KeptKind, type MemberPath, places } from '../kept.ts'

/** Returns the given places, with each member in both spellings. */
const eitherCase = (...paths: readonly string[]): readonly MemberPath[] =>
  places(...paths).flatMap((place) =>
    place.reduce<MemberPath[]>(
      (begun, name) => begun.flatMap((names) => casesOf(name).map((each) => [...names, each])),
      [[]],
    ),
  )

const casesOf = (name: string): string[] => [
  ...new Set([name, name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
]

export const kept: readonly KeptKind[] = [
  {
    what: 'the cached content',
    at: eitherCase('cachedContent'),
    isConversation: true,
    instead: 'all of it',
  },
  {
    what: 'the file',
    onRecord: 'object',
    at: eitherCase(
      'contents.*.parts.*.fileData.fileUri',
      'contents.*.parts.*.functionResponse.parts.*.fileData.fileUri',
      'systemInstruction.parts.*.fileData.fileUri',
    ),
    // Ids of the Files API. Every account can read any other address.
    isId: (uri) => /^(https:\/\/[^/]+\.googleapis\.com\/.*)?files\/[^/]+$/i.test(uri),
    instead: 'its content as `inlineData`',
  },
  {
    what: 'the file search store',
    at: eitherCase('tools.*.fileSearch.fileSearchStoreNames.*'),
    instead: 'what is to be searched',
  },
]
