// References in Gemini requests to state that Google stores. Names may be in camelCase or snake_case. Format:
// Gemini API reference, "Caching", "Files", "File search".
import { type KeptKind, type MemberPath, places } from '../kept.ts'
import { isGoogleFile } from '../object-name.ts'

/** Returns the given places of a request or of a request to count, with each member in both spellings. */
const eitherCase = (...paths: readonly string[]): readonly MemberPath[] =>
  places(...paths, ...paths.map((path) => `generateContentRequest.${path}`)).flatMap((place) =>
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
    onRecord: 'object',
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
    isId: isGoogleFile,
    instead: 'its content as `inlineData`',
  },
  {
    what: 'the file search store',
    at: eitherCase('tools.*.fileSearch.fileSearchStoreNames.*'),
    instead: 'what is to be searched',
  },
]
