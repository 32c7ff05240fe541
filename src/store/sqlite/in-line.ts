// The work of a store's threads, and the same on the main thread.
import { answerReads } from './reader.ts'
import type { ReaderData } from './reads.ts'
import { type Requests, type StartThread, startInLine, type ThreadName } from './thread.ts'
import { Writer, type WriterData } from './writer.ts'

/** Opens what carries out the requests of a thread. */
export const openRequests = (name: ThreadName, data: object): Requests =>
  name === 'writer' ? new Writer(data as WriterData) : answerReads(data as ReaderData)

export const startOnMainThread: StartThread = (name, data) => startInLine(() => openRequests(name, data))
