// Creates the credentials of a provider from its configuration.
import type { ProviderConfig } from '../config/load.ts'
import { ENTRA_SCOPE } from '../config/schema.ts'
import { createKeySearch } from '../shared/redact.ts'
import { awsCredentials } from './aws.ts'
import { callersOwn } from './caller.ts'
import type { Credential, Credentials } from './credentials.ts'
import { entraCredentials } from './entra.ts'
import { googleCredentials } from './google.ts'
import { type CredentialMemory, keyPool } from './key-pool.ts'
import { fixedKey, type KeySource, keyInFile, keyOfCommand } from './key-source.ts'

export interface CredentialContext {
  /** Secrets from the environment, by provider or by `provider/name of a key`. */
  readonly secrets: ReadonlyMap<string, string>
  readonly memory: CredentialMemory
  /** Called with each secret when it is read, so that it can be masked. */
  readonly learn: (secret: string) => void
  readonly now: () => number
}

export function credentialsOf(
  provider: string,
  { auth, keys, base_url, aws, entra }: Pick<ProviderConfig, 'auth' | 'keys' | 'base_url' | 'aws' | 'entra'>,
  { secrets, memory, learn, now }: CredentialContext,
): Credentials {
  if (auth === 'caller') return callersOwn(provider)
  if (auth === 'aws')
    return awsCredentials({ provider, origin: new URL(base_url).origin, ...aws, learn, now })
  if (auth === 'google') return googleCredentials(provider, { learn, now })
  if (auth === 'entra') return entraCredentials(provider, entra?.scope ?? ENTRA_SCOPE, { learn, now })
  if (!keys) return singleKey(secrets.get(provider) ?? null)
  const sources = keys.map((key): [string, KeySource] => {
    const what = `${provider}: key ${key.name}`
    if (key.file !== undefined) return [key.name, keyInFile(key.file, what, now)]
    if (key.command) return [key.name, keyOfCommand(key.command, key.renew, what, now)]
    return [key.name, fixedKey(secrets.get(`${provider}/${key.name}`) ?? '')]
  })
  return keyPool({ provider, sources: new Map(sources), state: memory.pool(provider), learn, now })
}

export function singleKey(key: string | null): Credentials {
  const credential: Credential = { key }
  return {
    areCallers: false,
    constant: credential,
    take: () => credential,
    holdsSecret: key === null ? () => false : createKeySearch(key),
  }
}
