// Asks for a gateway key and exchanges it for a read token. The key is not stored.
import { signal, useSignal } from '@preact/signals'
import { signIn } from './who.ts'

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
