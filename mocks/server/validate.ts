// Validates a request as its provider does: first the credential, then the body. Knows a provider's
// description; independent of the answer to an accepted request.
import type { z } from 'zod'
import type { LedgerEntry } from '../ledger.ts'
import type { Arrived, Endpoint, MockProvider, RefusedRequest } from '../provider.ts'
import { type Issue, openAiFieldError } from '../schemas/refusals.ts'
import { isAboutKept } from './kept-answers.ts'

export interface Validation {
  readonly credential: LedgerEntry['credential']
  /** All problems, including problems that the provider tolerates. */
  readonly problems: readonly string[]
  /** Refusal; null if the request is accepted. */
  readonly refused: RefusedRequest | null
}

export const NO_CREDENTIAL = 'no credential'

interface ValidationRules {
  /** Valid key; null if any key is valid and none is required. */
  readonly key: string | null
  /** True if unknown top-level fields are refused, as the provider does, instead of only noted. */
  readonly strict: boolean
}

/**
 * Validates a request. `endpoint` is null for a path without an endpoint; this is noted here, and refused
 * when the answer is chosen.
 */
export function validate(
  provider: MockProvider,
  endpoint: Endpoint | null,
  request: Arrived,
  { key: rightKey, strict }: ValidationRules,
): Validation {
  const key = provider.keyless ? null : rightKey
  const verified = key === null ? null : (provider.verify?.(request, key) ?? null)
  const shown = provider.credential(request)
  const isRight = verified === null ? key === null || shown === key : verified === 'match'
  const credential = shown === null ? 'absent' : isRight ? 'match' : 'mismatch'
  const problems: string[] = []
  let refused: RefusedRequest | null = null
  const refuse = (problem: string, refusal: RefusedRequest | null) => {
    problems.push(problem)
    refused ??= refusal
  }

  if (!endpoint && !isAboutKept(provider, request)) problems.push('no such endpoint')
  if (key !== null && credential === 'absent')
    refuse(NO_CREDENTIAL, provider.refusal('bad_key', 'You did not provide an API key.'))
  if (verified !== null && verified !== 'match') refuse('a signature that is wrong', verified)
  else if (credential === 'mismatch')
    refuse('not the key of this provider', provider.refusal('bad_key', 'Incorrect API key provided.'))
  const lack = endpoint && provider.lacks?.(request)
  if (lack) refuse(lack.problem, lack.refused)
  if (!endpoint?.body) return { credential, problems, refused }

  if (request.json === undefined)
    refuse(
      `the body is not ${endpoint.takesForm ? 'a form' : 'JSON'}`,
      provider.refusal(
        'invalid_request',
        `We could not parse the ${endpoint.takesForm ? 'form' : 'JSON body'} of your request.`,
      ),
    )
  else {
    const parsed = endpoint.body.safeParse(request.json, { reportInput: true })
    for (const issue of parsed.error?.issues ?? []) {
      const field = fieldOf(issue.path)
      const text = wordsOf(provider, field, issue)
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

/** Formats a path as `messages[0].role`; empty for the body itself. */
export const fieldOf = (path: readonly PropertyKey[]): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '')

function wordsOf({ invalidField = openAiFieldError }: MockProvider, field: string, issue: Issue): string {
  if (issue.code === 'custom' && issue.params?.sentence) return issue.message
  return field ? invalidField(field, issue) : `${issue.message}.`
}

const unknownFields = ({ shape }: z.ZodObject, json: unknown): string[] =>
  typeof json === 'object' && json !== null && !Array.isArray(json)
    ? Object.keys(json).filter((name) => !Object.hasOwn(shape, name))
    : []
