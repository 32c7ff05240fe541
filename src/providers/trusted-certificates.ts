// Certificates that a connection to a provider trusts. Knows no connection.
import { rootCertificates } from 'node:tls'

/**
 * Returns them as an option of TLS. `ca`: certificates in addition to the usual ones, in PEM; null without
 * any.
 */
export const trustedWith = (ca: string | null): { ca?: string[] } =>
  ca === null ? {} : { ca: [...rootCertificates, ca] }
