// The reader's identity, and the form that asks for a gateway key and exchanges it for a read token. Stores only this token,
// in this tab; it expires after some hours. The key itself is not stored.
import { signal, useSignal } from '@preact/signals'

export interface Who {
  readonly name: string | null
  readonly role: 'client' | 'admin'
}

/** The owner of the key or code, or anyone if no keys are configured; null until known. */
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
async function signIn(keyOrCode: string): Promise<void> {
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

/** Reason why the link of `waybill ui` failed to sign in. */
export const signInTrouble = signal<string | null>(null)

export function SignIn() {
  const key = useSignal('')
  const isBusy = useSignal(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    isBusy.value = true
    try {
      await signIn(key.value.trim())
      key.value = ''
      signInTrouble.value = null
    } catch (error) {
      signInTrouble.value = (error as Error).message
    }
    isBusy.value = false
  }
  return (
    <main class="sign-in" id="main">
      <form onSubmit={submit}>
        <p class="brand">
          <img src="/page/icon.svg" alt="" width="22" height="22" /> Waybill
        </p>
        <h1>Sign in</h1>
        <p>
          This gateway requires a key. Enter one, and this tab can read for twelve hours. A client key sees
          its own calls, an admin key sees all of them.
        </p>
        <label>
          Gateway key
          <input
            type="password"
            name="key"
            autocomplete="current-password"
            spellcheck={false}
            required
            ref={(field) => field?.focus()}
            value={key.value}
            onInput={(event) => {
              key.value = event.currentTarget.value
            }}
          />
        </label>
        <p class="trouble" role="alert">
          {signInTrouble.value}
        </p>
        <button type="submit" class="main" disabled={isBusy.value}>
          Sign in
        </button>
        <p class="note">
          Or run <code>waybill ui</code> where the key is: it opens a page that is already signed in.
        </p>
      </form>
    </main>
  )
}
