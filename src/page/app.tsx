// The frame of the page: where one can go, who reads, and the view of the address. Knows the views by their paths.
import { useEffect } from 'preact/hooks'
import { Help, useKeys } from './keys.tsx'
import { connection } from './live.ts'
import { followLink, path } from './place.ts'
import { SignIn } from './sign-in.tsx'
import { Call } from './views/call.tsx'
import { Calls } from './views/calls.tsx'
import { canSignOut, signOut, who } from './who.ts'

interface View {
  readonly name: string
  readonly title: string
  readonly key: string
  readonly component: () => preact.ComponentChild
}

export const VIEWS: readonly View[] = [{ name: 'calls', title: 'Calls', key: 'c', component: Calls }]

function current(): { view: View | null; component: () => preact.ComponentChild } {
  const [, name = '', rest = ''] = path.value.split('/')
  const view = VIEWS.find((each) => each.name === name) ?? null
  if (view?.name === 'calls' && rest !== '') return { view, component: Call }
  return { view, component: view?.component ?? Nowhere }
}

export function App() {
  useKeys(VIEWS)
  const { view, component: Component } = current()
  useEffect(() => {
    document.title = view ? `${view.title} · Waybill` : 'Waybill'
  }, [view?.title])
  if (who.value === 'signed out') return <SignIn />
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: links are what is clicked, here is only where all of them are heard
    // biome-ignore lint/a11y/useKeyWithClickEvents: a browser makes a click of Enter on a link
    <div class="frame" onClick={followLink}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="rail">
        <a class="brand" href="/">
          <img src="/page/icon.svg" alt="" width="22" height="22" /> Waybill
        </a>
        <nav aria-label="Views">
          {VIEWS.map(({ name, title }) => (
            <a key={name} href={`/${name}`} aria-current={view?.name === name ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <footer>
          <Connection />
          <Reader />
        </footer>
      </header>
      <main id="main" tabIndex={-1}>
        <Component />
      </main>
      <Help views={VIEWS} />
    </div>
  )
}

function Connection() {
  const words = { off: 'not live', on: 'live', lost: 'connecting…' }[connection.value]
  return (
    <span class={`connection ${connection.value}`} role="status">
      {words}
    </span>
  )
}

function Reader() {
  if (who.value === null || who.value === 'signed out' || who.value.name === null) return null
  return (
    <span class="reader">
      {who.value.name} <small>{who.value.role}</small>
      {canSignOut() && (
        <button type="button" class="quiet" onClick={() => void signOut()}>
          Sign out
        </button>
      )}
    </span>
  )
}

function Nowhere() {
  return (
    <section class="empty">
      <h1>There is no such view</h1>
      <p>
        Go to <a href="/calls">the calls</a>.
      </p>
    </section>
  )
}
