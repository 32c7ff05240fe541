// Entry of both threads of a store.
import { workerData } from 'node:worker_threads'
import { openRequests } from './in-line.ts'
import { answerRequests } from './thread.ts'

const { name, data } = workerData
answerRequests(openRequests(name, data))
