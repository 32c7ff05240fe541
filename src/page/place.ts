// The reader's location. The path selects the view, and the query its content. The URL is the only stored
// state, so every view can be linked, and back and forward work. Independent of the views.
import { computed, signal } from '@preact/signals'

const here = () => ({ path: location.pathname, query: location.search })
const place = signal(here())

export const path = computed(() => place.value.path)
const query = computed(() => place.value.query)
export const params = computed(() => new URLSearchParams(query.value))
/** True to show only the calls of this gateway in a fleet. */
export const ownOnly = computed(() => params.value.get('scope') === 'instance')

addEventListener('popstate', () => {
  place.value = here()
})

/** Opens an address of the page. `replace`: adds no entry to the history. */
export function go(href: string, replace = false): void {
  if (href === location.pathname + location.search) return
  history[replace ? 'replaceState' : 'pushState'](null, '', href)
  const next = here()
  const isOther = next.path !== place.value.path
  place.value = next
  if (isOther) scrollTo(0, 0)
}

/** Returns the address of the same view with changes to its state; null removes a parameter. */
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

/** Returns the decoded part of the path after the name of a view. */
export function rest(view: string): string {
  const text = path.value.slice(view.length + 2)
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/**
 * Handles a click on one of the page's links inside the page. With a modifier key, the browser handles the
 * click.
 */
export function followLink(event: MouseEvent): void {
  const link = (event.target as Element).closest?.('a')
  if (!link || event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  if (link.origin !== location.origin || link.target || link.hasAttribute('download')) return
  if (link.hash && link.pathname === location.pathname) return
  event.preventDefault()
  go(link.pathname + link.search)
}
