// Only the provider that keeps an answer can continue it. The record says which one that is.
import { previousResponseNotFound } from '../errors.ts'
import type { CallContext } from './context.ts'

/** The provider of a call that goes on from this answer. Throws where none of the caller's key is on record under that id. */
export async function madeBy(
  { calls }: CallContext['store'],
  responseId: string,
  keyName: string | null,
): Promise<string> {
  const provider = await calls.providerOf(responseId, keyName)
  if (provider === null) throw previousResponseNotFound('no answer with that id is on record')
  return provider
}
