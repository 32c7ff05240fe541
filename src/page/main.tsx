// Entry point and frame of the page: signs in with the code in the address, if there is one, and draws the navigation, the
// signed-in key, and the current view, which the path selects.
import './style.css'
import { render } from 'preact'
import { useEffect } from 'preact/hooks'
import { fetchRead, type Ready, useRead } from './api.ts'
import { Help, HelpButton, useKeys } from './keys.tsx'
import { connection, hasOthers, OTHERS_MS } from './live.ts'
import { followLink, hrefWith, ownOnly, path } from './place.ts'
import { canSignOut, redeemCode, SignIn, signInTrouble, signOut, type Who, who } from './sign-in.tsx'
import { CallView } from './views/call.tsx'
import { CallsView } from './views/calls.tsx'
import { Costs } from './views/costs.tsx'
import { HealthView } from './views/health.tsx'
import { Now } from './views/now.tsx'
import { RecordingsView } from './views/recordings.tsx'
import { Routes } from './views/routes.tsx'
import { SessionsView, SessionView } from './views/sessions.tsx'

interface View {
  readonly name: string
  readonly title: string
  readonly key: string
  readonly component: () => preact.ComponentChild
  /** View of a single item, if the path has another part. */
  readonly one?: () => preact.ComponentChild
}

const VIEWS: readonly View[] = [
  { name: '', title: 'Now', key: 'n', component: Now },
  { name: 'calls', title: 'Calls', key: 'c', component: CallsView, one: CallView },
  { name: 'sessions', title: 'Sessions', key: 's', component: SessionsView, one: SessionView },
  { name: 'routes', title: 'Routes', key: 'r', component: Routes },
  { name: 'costs', title: 'Costs', key: 'o', component: Costs },
  { name: 'recordings', title: 'Recordings', key: 'p', component: RecordingsView },
  { name: 'health', title: 'Health', key: 'h', component: HealthView },
]

function current(): { view: View | null; component: () => preact.ComponentChild } {
  const [, name = '', rest = ''] = path.value.split('/')
  const view = VIEWS.find((each) => each.name === name) ?? null
  return { view, component: (rest === '' ? view?.component : view?.one) ?? Nowhere }
}

function App() {
  const ready = useRead<Ready>('/readyz', 30_000)
  const isReplay = ready.data?.replay === true
  const fleet = ready.data?.fleet
  useEffect(() => {
    hasOthers.value = fleet !== undefined
  }, [fleet !== undefined])
  useKeys(VIEWS)
  const { view, component: Component } = current()
  useEffect(() => {
    document.title = view ? `${view.title} · Waybill` : 'Waybill'
  }, [view?.title])
  if (who.value === 'signed out') return <SignIn />
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: users click the links inside this element
    // biome-ignore lint/a11y/useKeyWithClickEvents: browsers turn Enter on a link into a click
    <div class="frame" onClick={followLink}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="rail">
        <a class="brand" href="/">
          <img src="/page/icon.svg" alt="" width="22" height="22" /> Waybill
        </a>
        <nav aria-label="Views">
          {VIEWS.filter(({ name }) => name !== 'recordings' || isReplay || view?.name === name).map(
            ({ name, title }) => (
              <a
                key={name}
                href={ownOnly.value ? `/${name}?scope=instance` : `/${name}`}
                aria-current={view?.name === name ? 'page' : undefined}
              >
                {title}
              </a>
            ),
          )}
        </nav>
        <div class="foot">
          {isReplay && <span class="replay">replay: nothing is spent</span>}
          {fleet && (
            <span
              class="note"
              title={`The calls of this gateway are shown as they happen, those of the others every ${OTHERS_MS / 1_000} s.`}
            >
              {fleet.instance},{' '}
              {fleet.shared_log === 'ready' ? `one of ${fleet.instances}` : 'the shared log is unavailable'}{' '}
              <a href={hrefWith({ scope: ownOnly.value ? null : 'instance' })}>
                {ownOnly.value ? 'show all gateways' : 'show this one only'}
              </a>
            </span>
          )}
          <HelpButton />
          <Connection />
          <Reader />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <Component />
      </main>
      <Help views={VIEWS} />
    </div>
  )
}

function Connection() {
  const words = { off: '', on: 'live', lost: 'connecting…' }[connection.value]
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

async function begin(): Promise<void> {
  await redeemCode().catch((error: Error) => {
    signInTrouble.value = error.message
  })
  // Waits for the answer, so that a reader without a key sees one 401 on the console, and not one for each list.
  await fetchRead<Who>('/api/keys/me').then(
    ({ name, role }) => {
      who.value = { name, role }
    },
    () => {}, // the sign-in form reports it
  )
  render(<App />, document.getElementById('page')!)
}

void begin()
