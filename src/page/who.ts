// The reader's identity: unknown so far, the owner of the key or code, or anyone if no keys are configured.
// Stores only a read token in this tab, which expires after some hours. The key itself is not stored.
import { signal } from '@preact/signals'

export interface Who {
  readonly name: string | null
  readonly role: 'client' | 'admin'
}

/** Null until known. */
export const who = signal<Who | 'signed out' | null>(null)

/** Returns true if this gateway has keys and callers from elsewhere need one. */
export const hasKeys = (): boolean =>
  who.value === 'signed out' || (who.value !== null && who.value.name !== null)

const NAME = 'waybill-token'

export const authorization = (): Record<string, string> => {
  const token = sessionStorage.getItem(NAME)
  return token === null ? {} : { authorization: `Bearer ${token}` }
}

/** Handles a refused read: the token is missing or has expired. */
export function signedOut(): void {
  sessionStorage.removeItem(NAME)
  who.value = 'signed out'
}

/** Exchanges a key or a code for a token. Rejects with a message for the reader. */
export async function signIn(keyOrCode: string): Promise<void> {
  const headers = { authorization: `Bearer ${keyOrCode}` }
  const response = await fetch('/page/sign-in', { method: 'POST', headers }).catch(() => null)
  const body = await response?.json().catch(() => null)
  if (!response?.ok) throw new Error(body?.error?.message ?? 'The gateway does not answer.')
  sessionStorage.setItem(NAME, body.token)
  who.value = { name: body.name, role: body.role }
}

export async function signOut(): Promise<void> {
  await fetch('/page/sign-out', { method: 'POST', headers: authorization() }).catch(() => null)
  signedOut()
}

export const canSignOut = (): boolean => sessionStorage.getItem(NAME) !== null

/**
 * Signs in with the code of `waybill ui` after the `#`, which is never sent. Removes the code from the
 * address.
 */
export async function redeemCode(): Promise<void> {
  const code = /^#code=(wbc-[\w-]+)$/.exec(location.hash)?.[1]
  if (code === undefined) return
  history.replaceState(null, '', location.pathname + location.search)
  await signIn(code)
}
