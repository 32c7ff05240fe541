// Messages around the data: an error, an empty list, and a link to the JSON of a view.
import type { ComponentChildren } from 'preact'
import { type ReadError, readBlob, scoped } from '../api.ts'
import { canSignOut, hasKeys } from '../sign-in.tsx'

export function ReadTrouble({ error, retry }: { error: ReadError | null; retry?: () => void }) {
  if (!error || error.status === 401) return null
  return (
    <div class="trouble" role="alert">
      {error.message}
      {retry && error.status !== 403 && (
        <button type="button" class="quiet" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  )
}

/** Shows the command for a first call, ready to paste. */
export function FirstCall() {
  const key = hasKeys() ? ' \\\n  -H "authorization: Bearer $WAYBILL_KEY"' : ''
  const line = `curl -s ${location.origin}/v1/chat/completions -H 'content-type: application/json'${key} \\
  -d '{"model":"auto","messages":[{"role":"user","content":"Where do you go?"}]}'`
  return (
    <>
      <p>Start a coding agent, and its calls appear here while they run:</p>
      <Copyable text={`waybill run --url ${location.origin} -- claude`} label="the command" />
      <p class="note">
        Or codex, opencode, copilot, qwen, gemini, pi, or any other program. Without one, make a call:
      </p>
      <Copyable text={line} label="the curl line" />
    </>
  )
}

export function Copyable({ text, label }: { text: string; label: string }) {
  return (
    <div class="copyable">
      <pre>{text}</pre>
      <button type="button" class="quiet" onClick={(event) => void copy(event.currentTarget, text)}>
        Copy<span class="unseen"> {label}</span>
      </button>
    </div>
  )
}

async function copy(button: HTMLButtonElement, text: string): Promise<void> {
  await navigator.clipboard.writeText(text)
  const before = button.childNodes[0]!
  before.textContent = 'Copied'
  setTimeout(() => {
    before.textContent = 'Copy'
  }, 1_500)
}

/** A link to a view's read endpoint. A plain link cannot send a token, so the answer is fetched. */
export function JsonLink({ path, name }: { path: string; name: string }) {
  const follow = (event: MouseEvent) => {
    if (!canSignOut()) return
    event.preventDefault()
    void saveAs(path, `${name}.json`)
  }
  return (
    <a class="json" href={scoped(path)} target="_blank" rel="noreferrer" onClick={follow}>
      .json
    </a>
  )
}

/** Saves an answer as a file. */
export async function saveAs(path: string, name: string): Promise<void> {
  const link = document.createElement('a')
  const url = URL.createObjectURL(await readBlob(path))
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
