// Makes the credentials of a provider from its configuration.
import type { ProviderConfig } from '../config/load.ts'
import { callersOwn } from './caller.ts'
import type { Credentials } from './credentials.ts'
import { singleKey } from './single-key.ts'

/** `key`: the one that the configuration names; null if it names none. */
export const credentialsOf = (name: string, { auth }: ProviderConfig, key: string | null): Credentials =>
  auth === 'caller' ? callersOwn(name) : singleKey(key)
