// Reads Server-Sent Events from text in pieces of any size, in time linear in the text, and at most a few times as long
// for one kind of text as for another. Imports no other file.

interface TextEvent {
  /** Name of the event; undefined if it has none. */
  readonly event: string | undefined
  readonly data: string
}

/** Returns a function that reads a stream's next piece. `onEvent` receives each event that has data. */
export function eventsIn(onEvent: (event: TextEvent) => void): (text: string) => void {
  let isFirst = true
  let afterCr = false
  /** The incomplete line. */
  let begun = ''
  let event: string | undefined
  let data: string | null = null

  const readLine = (line: string): void => {
    if (line === '') {
      if (data !== null) onEvent({ event, data })
      event = undefined
      data = null
      return
    }
    const value = valueIn(line, 'data')
    if (value !== null) data = data === null ? value : `${data}\n${value}`
    else event = (valueIn(line, 'event') ?? event) || undefined
  }

  return (piece) => {
    if (piece === '') return
    let text = afterCr && piece.startsWith('\n') ? piece.slice(1) : piece
    afterCr = piece.endsWith('\r')
    if (isFirst && text.startsWith('\ufeff')) text = text.slice(1)
    isFirst = false
    if (text.includes('\r')) text = text.replace(/\r\n?/g, '\n')
    let from = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      readLine(begun + text.slice(from, end))
      begun = ''
      from = end + 1
    }
    begun += text.slice(from)
  }
}

/** Returns the value of a field; null for a line of another field. */
function valueIn(line: string, field: string): string | null {
  if (!line.startsWith(field)) return null
  if (line.length === field.length) return ''
  if (line[field.length] !== ':') return null
  return line.slice(line[field.length + 1] === ' ' ? field.length + 2 : field.length + 1)
}
