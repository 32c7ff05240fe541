// References in Gemini requests to state that Google stores. Names may be in camelCase or snake_case. Format:
// Gemini API reference, "Caching", "Files", "File search".
import { type KeptKind, type MemberPath, places } from '../kept.ts'
import { plainGeminiAddress } from '../object-name.ts'

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

/** Returns true for a file of Google's Files API, in any spelling. Every account can read any other address. */
function isGoogles(uri: string): boolean {
  const plain = plainGeminiAddress(uri)
  const [, host] = /^[a-z][a-z\d+.-]*:[\\/]*(?:[^\\/?#]*@)?([^\\/?#:]*)/i.exec(plain) ?? []
  return /files[\\/]/i.test(plain) && (host === undefined || /(^|\.)googleapis\.com\.?$/i.test(host))
}

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
    isId: isGoogles,
    instead: 'its content as `inlineData`',
  },
  {
    what: 'the file search store',
    at: eitherCase('tools.*.fileSearch.fileSearchStoreNames.*'),
    instead: 'what is to be searched',
  },
]
