// Target that is an image: its container runs on the mock's network, with copies of the target file's files.
// The container is stopped and started, never recreated, so that the files it has written remain.
import { type Container, type Containers, DIRECTORY } from './containers.ts'
import type { Home, Process } from './instance.ts'
import { StartError } from './instance.ts'
import { filesIn } from './instance-files.ts'

/** Returns the place in which an image runs; `port` is the port on which it listens. */
export function containerHome(containers: Containers, port: number): Home {
  let made: Container | null = null
  const container = (): Container => {
    if (made === null) throw new StartError('the container has not been made yet')
    return made
  }
  return {
    dir: DIRECTORY,
    port,
    files: {
      list: () => container().look((copy) => filesIn(copy).list()),
      read: (name) => container().look((copy) => filesIn(copy).read(name)),
      write: (files) => container().put(files),
    },
    async writeFiles({ start, env }, files) {
      if (!('image' in start)) throw new StartError('only an image runs in a container')
      made = await containers.create({ image: start.image, command: start.command, env, port })
      await made.put(files)
    },
    run: () => started(container()),
    async runBeside({ env }) {
      let printed: string | null = null
      container()
        .again(env)
        .then(
          (output) => (printed = output),
          (cause: Error) => (printed = cause.message),
        )
      // A second process that starts successfully ends with its container.
      return { alive: () => printed === null, output: () => printed ?? '', stop: async () => {} }
    },
    async remove() {
      await made?.remove()
    },
  }
}

async function started(container: Container): Promise<Process> {
  let output = ''
  const { origin, alive } = await container.start((text) => {
    output = (output + text).slice(-1_000_000)
  })
  return {
    origin,
    alive,
    output: () => output,
    stop: (how) => (alive() ? container.stop(how) : Promise.resolve()),
  }
}
