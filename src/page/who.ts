// Who reads: not known yet, the owner of the key or code, or anyone if no keys are configured. What is kept
// is a token that reads for some hours, in this tab only; the key itself is kept nowhere.
import { signal } from '@preact/signals'

export interface Who {
  readonly name: string | null
  readonly role: 'client' | 'admin'
}

/** Null until it is known. */
export const who = signal<Who | 'signed out' | null>(null)

/** Whether this gateway has keys, so that whoever calls it from elsewhere needs one. */
export const hasKeys = (): boolean =>
  who.value === 'signed out' || (who.value !== null && who.value.name !== null)

const NAME = 'waybill-token'

export const authorization = (): Record<string, string> => {
  const token = sessionStorage.getItem(NAME)
  return token === null ? {} : { authorization: `Bearer ${token}` }
}

/** A read was refused: the token is good no longer, or there was none. */
export function signedOut(): void {
  sessionStorage.removeItem(NAME)
  who.value = 'signed out'
}

/** Exchanges a key or a code. Rejects with words for the reader. */
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

/** `waybill ui` puts a code after the `#`, which is never sent; it is removed from the address at once. */
export async function redeemCode(): Promise<void> {
  const code = /^#code=(wbc-[\w-]+)$/.exec(location.hash)?.[1]
  if (code === undefined) return
  history.replaceState(null, '', location.pathname + location.search)
  await signIn(code)
}
