// Reads the body of an answer that a command fetched. A server may send any number of bytes, and fetch makes compressed
// ones a thousand times longer. Imports no other file.

/** Returns the body of an answer, of at most `most` bytes after decompression. Cancels a longer one and throws. */
export async function boundedBody(answer: Response, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of answer.body ?? []) {
    size += piece.length
    if (size > most) throw new Error(`the answer is longer than ${most} bytes`) // which cancels it
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
