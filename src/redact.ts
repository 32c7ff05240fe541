// What may never be written or repeated. Ground floor: knows no other file.

/**
 * Replaces every known secret in a text by `***`, also where it stands URL-encoded.
 * Secrets shorter than 8 characters are left alone: masking them would garble ordinary words.
 */
export function maskSecrets(text: string, secrets: Iterable<string>): string {
  for (const secret of secrets) {
    if (secret.length < 8) continue
    for (const form of new Set([secret, encodeURIComponent(secret)])) text = text.replaceAll(form, '***')
  }
  return text
}
