// Where the reader is: the view by the path, what it shows by the query. The URL is the only state that is kept, so that
// every view can be linked, and back and forward work. Knows no view.
import { computed, signal } from '@preact/signals'

const here = () => ({ path: location.pathname, query: location.search })
const place = signal(here())

export const path = computed(() => place.value.path)
const query = computed(() => place.value.query)
export const params = computed(() => new URLSearchParams(query.value))
/** Of a fleet: only what the gateway that is asked has on record itself. */
export const ownOnly = computed(() => params.value.get('scope') === 'instance')

addEventListener('popstate', () => {
  place.value = here()
})

/** Goes to an address of the page. `replace`: without a step in the history. */
export function go(href: string, replace = false): void {
  if (href === location.pathname + location.search) return
  history[replace ? 'replaceState' : 'pushState'](null, '', href)
  const next = here()
  const isOther = next.path !== place.value.path
  place.value = next
  if (isOther) scrollTo(0, 0)
}

/** The address of the same view with some of its state changed; null takes a parameter out. */
export function hrefWith(changes: Readonly<Record<string, string | null>>, base = params.value): string {
  const next = new URLSearchParams(base)
  for (const [name, value] of Object.entries(changes))
    if (value === null || value === '') next.delete(name)
    else next.set(name, value)
  const text = next.toString()
  return text ? `${path.value}?${text}` : path.value
}

export const change = (changes: Readonly<Record<string, string | null>>, replace = false): void =>
  go(hrefWith(changes), replace)

export const callHref = (id: string): string => `/calls/${encodeURIComponent(id)}`
export const sessionHref = (id: string): string => `/sessions/${encodeURIComponent(id)}`
export const callsHref = (filters: Readonly<Record<string, string>>): string =>
  `/calls?${new URLSearchParams(filters)}`

/** What follows the name of a view in its path, decoded. */
export function rest(view: string): string {
  const text = path.value.slice(view.length + 2)
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A click on a link of the page stays in the page; with a modifier the browser has it. */
export function followLink(event: MouseEvent): void {
  const link = (event.target as Element).closest?.('a')
  if (!link || event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  if (link.origin !== location.origin || link.target || link.hasAttribute('download')) return
  if (link.hash && link.pathname === location.pathname) return
  event.preventDefault()
  go(link.pathname + link.search)
}
