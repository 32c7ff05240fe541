// Reads Server-Sent Events from text in pieces of any size, in time linear in the text. Imports no other file.
import { createParser, type EventSourceMessage } from 'eventsource-parser'

/** Returns a function that reads a stream's next piece. `onEvent` receives each event that has data. */
export function eventsIn(onEvent: (event: EventSourceMessage) => void): (text: string) => void {
  const parser = createParser({ onEvent })
  let afterCr = false
  // The parser searches a piece with a CR to its end at every line, so it receives LF only.
  return (piece) => {
    const text = afterCr && piece.startsWith('\n') ? piece.slice(1) : piece
    if (piece !== '') afterCr = piece.endsWith('\r')
    parser.feed(text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text)
  }
}
