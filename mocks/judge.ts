// Judges a request as its provider does: the credential, then the body. Knows how a provider is described; does not
// know how an accepted request will be answered.
import type { z } from 'zod'
import type { LedgerEntry } from './ledger.ts'
import type { Arrived, Endpoint, Provider, Refused } from './provider.ts'

export interface Verdict {
  readonly credential: LedgerEntry['credential']
  /** Everything that is wrong, also what is let pass. */
  readonly problems: readonly string[]
  /** Null where the request is let pass. */
  readonly refused: Refused | null
}

export const NO_CREDENTIAL = 'no credential'

export interface Rules {
  /** The key that is right; null: any will do, and none as well. */
  readonly key: string | null
  /** Whether top-level fields that the provider does not know are refused as it would, or only noted. */
  readonly strict: boolean
}

/** `endpoint` is null for a path where the provider has none; that is noted, and refused by whoever chooses the answer. */
export function judge(
  provider: Provider,
  endpoint: Endpoint | null,
  request: Arrived,
  { key: rightKey, strict }: Rules,
): Verdict {
  const key = provider.keyless ? null : rightKey
  const shown = provider.credential(request)
  const credential = shown === null ? 'absent' : key === null || shown === key ? 'match' : 'mismatch'
  const problems: string[] = []
  let refused: Refused | null = null
  const refuse = (problem: string, refusal: Refused | null) => {
    problems.push(problem)
    refused ??= refusal
  }

  if (!endpoint) problems.push('no such endpoint')
  if (key !== null && credential === 'absent')
    refuse(NO_CREDENTIAL, provider.refusal('bad_key', 'You did not provide an API key.'))
  if (credential === 'mismatch')
    refuse('not the key of this provider', provider.refusal('bad_key', 'Incorrect API key provided.'))
  const lack = endpoint && provider.lacks?.(request)
  if (lack) refuse(lack.problem, lack.refused)
  if (!endpoint?.body) return { credential, problems, refused }

  if (request.json === undefined)
    refuse(
      'the body is not JSON',
      provider.refusal('invalid_request', 'We could not parse the JSON body of your request.'),
    )
  else {
    const parsed = endpoint.body.safeParse(request.json)
    for (const issue of parsed.error?.issues ?? []) {
      const field = fieldOf(issue.path)
      const text = wordsOf(provider, field, issue.message)
      refuse(
        `${field || 'body'}: ${issue.message}`,
        provider.refusal('invalid_request', text, field || undefined),
      )
    }
    for (const name of unknownFields(endpoint.body, request.json)) {
      const message = provider.unknownField(name)
      refuse(
        `unknown field: ${name}`,
        strict && message !== null ? provider.refusal('invalid_request', message, name) : null,
      )
    }
  }
  return { credential, problems, refused }
}

/** `messages[0].role`; empty for the body itself. */
export const fieldOf = (path: readonly PropertyKey[]): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '')

function wordsOf({ invalidField }: Provider, field: string, issue: string): string {
  if (!field) return `${issue}.`
  return invalidField ? invalidField(field, issue) : `Invalid value for '${field}': ${issue}.`
}

const unknownFields = ({ shape }: z.ZodObject, json: unknown): string[] =>
  typeof json === 'object' && json !== null && !Array.isArray(json)
    ? Object.keys(json).filter((name) => !Object.hasOwn(shape, name))
    : []
