// Starts the witness of a run where its target can reach it: in this process, or in a container beside the target's.
import { createWitness, type Witness } from '../mocks/witness.ts'
import { type Containers, openContainers, ownImage } from './containers.ts'
import { StartError } from './running.ts'
import type { WitnessControl } from './session.ts'
import type { Target } from './target.ts'
import type { Values } from './template.ts'
import { startWitnessContainer } from './witness-container.ts'
import { controlOf, valuesOf } from './witness-control.ts'

export interface RunWitness {
  readonly control: WitnessControl
  readonly values: Values
  /** The object; null where it runs in a container. */
  readonly here: Witness | null
  /** Where targets get containers beside it; null where they need none. */
  readonly containers: Containers | null
  close(): Promise<void>
}

/** Starts a witness that the target can reach. Rejects with StartError. */
export async function startWitness({ start, sealed, witness_port: port }: Target): Promise<RunWitness> {
  if (!('image' in start)) {
    const here = await createWitness({ port }).catch((cause: Error) => {
      throw new StartError(`the witness cannot start: ${cause.message}`, { cause })
    })
    return { control: controlOf(here), values: valuesOf(here), here, containers: null, close: here.close }
  }
  const containers = await openContainers(sealed)
  try {
    const witness = await startWitnessContainer(containers, ownImage(), port)
    const close = async () => {
      await witness.close()
      await containers.close()
    }
    return { ...witness, here: null, containers, close }
  } catch (cause) {
    await containers.close()
    throw cause
  }
}
