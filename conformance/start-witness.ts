// Starts the witness of a run where its target can reach it: in this process, or in a container beside the target's.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { certify } from '../mocks/certificate.ts'
import { createWitness, type Witness } from '../mocks/witness.ts'
import { atExit } from './at-exit.ts'
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
export async function startWitness(target: Target): Promise<RunWitness> {
  const { start, sealed, witness_port: port } = target
  if (!('image' in start)) return startHere(target)
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

/** In this process. The certificate of its authority is a file for as long as it runs. */
async function startHere({
  witness_host: host,
  witness_name: name,
  witness_port: port,
  witness_tls,
}: Target): Promise<RunWitness> {
  const tls = witness_tls
    ? certify([...new Set([name ?? host, host, 'localhost', '127.0.0.1', '::1'])])
    : null
  const here = await createWitness({ host, port, ...(name && { name }), ...(tls && { tls }) }).catch(
    (cause: Error) => {
      throw new StartError(`the witness cannot start: ${cause.message}`, { cause })
    },
  )
  const run = { control: controlOf(here), values: valuesOf(here), here, containers: null, close: here.close }
  if (tls === null) return run
  const directory = mkdtempSync(join(tmpdir(), 'waybill-witness-'))
  const remove = () => rmSync(directory, { recursive: true, force: true })
  const forget = atExit(remove)
  const ca = join(directory, 'ca.pem')
  writeFileSync(ca, tls.ca)
  return {
    ...run,
    values: { ...run.values, 'witness.ca': ca },
    async close() {
      await here.close()
      remove()
      forget()
    },
  }
}
