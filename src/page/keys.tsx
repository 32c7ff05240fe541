// Keyboard shortcuts that work anywhere on the page, and the help that lists them. A view adds its own
// shortcuts.
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { go } from './place.ts'

interface Named {
  readonly name: string
  readonly title: string
  readonly key: string
}

/** Actions of the current view, by key. */
const viewKeys = signal<ReadonlyMap<string, { readonly does: string; run(): void }>>(new Map())
const isHelpOpen = signal(false)
let isGoing = false

/** Registers shortcuts of a view while it is shown. Registers only once while `on` stays the same. */
export function useViewKeys(
  keys: Readonly<Record<string, readonly [does: string, run: () => void]>>,
  on: readonly unknown[],
): void {
  useEffect(() => {
    viewKeys.value = new Map(Object.entries(keys).map(([key, [does, run]]) => [key, { does, run }]))
    return () => {
      viewKeys.value = new Map()
    }
  }, on)
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches('input, textarea, select')

export function useKeys(views: readonly Named[]): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      const { key } = event
      const wasGoing = isGoing
      isGoing = false
      const view = wasGoing ? views.find((each) => each.key === key) : undefined
      if (view) go(`/${view.name}`)
      else if (key === 'g') isGoing = true
      else if (key === '?') isHelpOpen.value = !isHelpOpen.value
      else if (viewKeys.value.has(key) && !isHelpOpen.value) viewKeys.value.get(key)!.run()
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

/** Opens the help with the mouse. A phone does not show it, because it has no keyboard. */
export function HelpButton() {
  return (
    <button
      type="button"
      class="help-button quiet"
      onClick={() => {
        isHelpOpen.value = true
      }}
    >
      Keyboard <kbd>?</kbd>
    </button>
  )
}

export function Help({ views }: { views: readonly Named[] }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    if (isHelpOpen.value) dialog.current?.showModal()
    else dialog.current?.close()
  }, [isHelpOpen.value])
  const close = () => {
    isHelpOpen.value = false
  }
  return (
    <dialog ref={dialog} class="help" onClose={close} aria-labelledby="help-title">
      <h2 id="help-title">Keyboard</h2>
      <dl>
        {[...viewKeys.value].map(([key, { does }]) => (
          <Line key={key} keys={[key]} does={does} />
        ))}
        {views.map(({ name, title, key }) => (
          <Line key={name} keys={['g', key]} does={`go to ${title.toLowerCase()}`} />
        ))}
        <Line keys={['?']} does="open and close this help" />
        <Line keys={['Tab']} does="the next thing; in a table the arrows move" />
      </dl>
      <button type="button" class="main" onClick={close}>
        Close
      </button>
    </dialog>
  )
}

function Line({ keys, does }: { keys: readonly string[]; does: string }) {
  return (
    <div>
      <dt>
        {keys.map((key) => (
          <kbd key={key}>{key === ' ' ? 'space' : key}</kbd>
        ))}
      </dt>
      <dd>{does}</dd>
    </div>
  )
}
