// Loaded into every thread of a gateway by `--import`. In one thread, makes one listener of an
// event throw once: BROKEN is a list of thread, event, call, failure and marker, as JSON. The file `marker` is made then, and prevents a second time.
import { existsSync, writeFileSync } from 'node:fs'
import { isMainThread, threadName } from 'node:worker_threads'
import { replaceListeners } from '../shared/boundary.ts'

const [name, event, call, failure, marker] = JSON.parse(process.env.BROKEN ?? '[]')
let calls = 0
if (!isMainThread && threadName === name)
  replaceListeners((listener, registered) => {
    if (registered !== event) return listener
    return function (this: unknown, ...args) {
      if (++calls !== call || existsSync(marker)) return listener.apply(this, args)
      writeFileSync(marker, '')
      if (failure === 'rejects') return Promise.reject(new Error('thrown by the test'))
      if (failure === 'throws null') throw null
      if (failure === 'late') listener.apply(this, args)
      throw new Error('thrown by the test')
    }
  })
