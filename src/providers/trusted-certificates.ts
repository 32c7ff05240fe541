// Certificates that a connection to a provider trusts. Independent of connections.
import { rootCertificates } from 'node:tls'

/**
 * Returns the trusted certificates as a TLS option. `ca`: certificates in addition to the default ones, in
 * PEM; null for none.
 */
export const trustedWith = (ca: string | null): { ca?: string[] } =>
  ca === null ? {} : { ca: [...rootCertificates, ca] }
