// A target that is an image: a container of it beside the witness's, with the files of the target file copied in. It
// is stopped and started, never recreated, so that it keeps what it has written.
import { type Container, type Containers, DIRECTORY } from '../containers.ts'
import { filesIn } from '../directory.ts'
import { StartError } from '../running.ts'
import type { Home, Process } from '../start.ts'

/** `port`: where the image listens. */
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
    async furnish({ start, env }, files) {
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
      // One that comes up ends with the container that it is in.
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
