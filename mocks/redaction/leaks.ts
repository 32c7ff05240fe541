// Searches for content that a recording must not contain: known secrets in all likely encodings, and text that looks like
// a credential. To add a form of credentials, add a row to the table, with its document. Pure.
import { blank } from './placeholders.ts'

/** Form of a credential. `pattern` matches what is replaced, and may look behind for a name before it. */
interface CredentialForm {
  readonly name: string
  readonly pattern: string
  readonly source: string
}

/** A secret's characters: at least `least`, with a digit among them. */
const secret = (least: number, characters = '\\w-'): string =>
  `(?=[${characters}]{0,200}\\d)[${characters}]{${least},}`
/** A prefix at the start of a word, and the secret after it. */
const after = (prefix: string, least: number, characters?: string): string =>
  `(?<![A-Za-z0-9])(?:${prefix})${secret(least, characters)}`
/** The value of one of these names in the query of an address, in JSON or HTML too. */
const inQuery = (names: string): string =>
  `(?<=(?:[?&;]|\\\\u0026)(?:${names})=)(?![\\w.~%-]{0,9}REDACTED)[\\w.~%+/-]{12,}`

const CREDENTIAL_FORMS: readonly CredentialForm[] = [
  // Models.
  {
    name: 'key of a model provider',
    pattern: after('(?:sk|rk|pk|ek|gsk|csk|xai|hf|sess)[-_]', 16),
    source:
      'OpenAI, Anthropic, OpenRouter, DeepSeek, Groq, Cerebras, xAI, Hugging Face: API keys; also Stripe, ElevenLabs',
  },
  {
    name: 'account of OpenAI',
    pattern: after('(?:org|proj|user)[-_]', 16, 'A-Za-z0-9'),
    source: 'OpenAI API reference: OpenAI-Organization, OpenAI-Project',
  },
  {
    name: 'key of a model service',
    pattern: after(
      // `voyage-multimodal-3-plain-2` is a model's name with more.
      'nvapi-|pplx-|r8_|fw_|tgp_v1_|jina_|pcsk_|tvly-|wandb_v1_|lsv2_(?:pt|sk)_|ls__|bfl_|nk-|voyage-(?=\\w{20})',
      20,
    ),
    source:
      'NVIDIA NIM, Perplexity, Replicate, Fireworks, Together, Jina, Pinecone, Tavily, Weights & Biases, LangSmith: API keys',
  },
  // Clouds.
  {
    name: 'access key of AWS',
    pattern: '\\b(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)[A-Z0-9]{16}\\b',
    source: 'AWS IAM user guide: unique identifiers',
  },
  {
    name: 'session token of AWS',
    pattern: '\\b(?:IQoJb3JpZ2lu|FwoGZXIvYXdz|FQoGZXIvYXdz)[\\w+/=-]{20,}',
    source: 'AWS STS API reference: Credentials',
  },
  {
    name: 'key of Bedrock',
    pattern: '\\b(?:ABSK|bedrock-api-key-)[\\w+/=-]{40,}',
    source: 'Amazon Bedrock user guide: API keys',
  },
  {
    name: 'key of Google',
    pattern:
      '\\bAIza[\\w-]{30,}|\\bya29\\.[\\w-]{20,}|\\bGOCSPX-[\\w-]{20,}|(?<![\\w/])1//0[\\w-]{30,}|\\bAQ\\.Ab[\\w-]{30,}',
    source: 'Google Cloud: API keys, OAuth 2.0 access and refresh tokens, client secrets',
  },
  {
    name: 'project of Google',
    pattern: '(?<=\\bprojects/)(?!000)\\d{9,}',
    source: 'Google Cloud Resource Manager: project numbers',
  },
  {
    name: 'key of Azure',
    pattern:
      '(?<=\\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)=)[\\w+/=%&;-]{20,}|(?<![\\w~.-])[\\w~.-]{3}[78]Q~[\\w~.-]{31,}',
    source: 'Azure Storage: connection strings; Entra ID: client secrets',
  },
  {
    name: 'key of a host',
    pattern: after(
      'do[opr]_v1_|dp\\.(?:pt|st|ct|sa)\\.|hv[sbr]\\.|nfp_|fo1_|fm2_|sbp_|sb_secret_|pscale_(?:tkn|pw|oauth)_|dapi|HRKU-|rnd_|railway_',
      20,
    ),
    source:
      'DigitalOcean, Doppler, Vault, Netlify, Fly, Supabase, PlanetScale, Databricks, Heroku, Render: tokens',
  },
  {
    name: 'token of Terraform',
    pattern: '\\b[A-Za-z0-9]{14}\\.atlasv1\\.[\\w-]{40,}',
    source: 'HCP Terraform: API tokens',
  },
  // Hosts of code.
  {
    name: 'token of GitHub',
    pattern: `${after('gh[pousr]_', 16)}|${after('github_pat_', 20)}|\\btid=[\\da-f]{16,}`,
    source: 'GitHub docs: token formats; Copilot session tokens',
  },
  {
    name: 'token of GitLab',
    pattern: after('gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-', 16, '\\w.-'),
    source: 'GitLab docs: token prefixes',
  },
  {
    name: 'token of Atlassian',
    pattern: after('ATBB|ATATT3|ATCTT3|BBDC-', 20, '\\w=.-'),
    source: 'Atlassian support: API tokens; Bitbucket app passwords',
  },
  // Chats and messages.
  {
    name: 'token of Slack',
    pattern: `${after('xox[abdeoprs]-|xapp-|xoxe\\.xox[bp]-', 10)}|(?<=hooks\\.slack\\.com/(?:services|workflows|triggers)/)[\\w/-]{20,}`,
    source: 'Slack API docs: token types, incoming webhooks',
  },
  {
    name: 'token of Discord',
    pattern:
      '\\b[MNO][\\w-]{22,28}\\.[\\w-]{6}\\.[\\w-]{27,}|(?<=discord(?:app)?\\.com/api/webhooks/)\\d{15,}/[\\w-]{20,}',
    source: 'Discord developer docs: authentication, webhooks',
  },
  {
    name: 'token of Telegram',
    pattern: '(?<!\\d)\\d{8,10}:AA[\\w-]{33}(?![\\w-])',
    source: 'Telegram Bot API: authorizing your bot',
  },
  {
    name: 'webhook of Teams',
    pattern: '(?<=\\.webhook\\.office\\.com/webhookb2/)[\\w@/-]{20,}',
    source: 'Microsoft Teams: incoming webhooks',
  },
  {
    name: 'key of a mail or phone service',
    pattern:
      '\\bSG\\.[\\w-]{16,}\\.[\\w-]{16,}|\\bkey-[\\da-f]{32}\\b|\\b(?:SK|AC)[\\da-f]{32}\\b|\\bxkeysib-[\\da-f]{40,}|\\bre_[A-Za-z0-9]{6,}_[A-Za-z0-9]{16,}',
    source: 'SendGrid, Mailgun, Twilio, Brevo, Resend: API keys',
  },
  // Packages.
  {
    name: 'token of a package registry',
    pattern: `${after('npm_|pypi-|rubygems_|dckr_(?:pat|oat)_|hackage_', 20)}|${after('cio|oy2|AKCp', 30, 'A-Za-z0-9')}`,
    source: 'npm, PyPI, RubyGems, crates.io, NuGet, Docker Hub, Artifactory: access tokens',
  },
  // Work.
  {
    name: 'key of a service',
    pattern: after(
      'whsec_|shp(?:at|ca|pa|ss)_|sq0[a-z]{3}-|lin_(?:api|oauth)_|ntn_|secret_|figd_|gl(?:c|sa)_|NRAK-|sntry[su]_|ph[cx]_|PMAK-|sgp_|cfut_|phc_|dd_',
      20,
      '\\w+/=-',
    ),
    source:
      'Stripe, Shopify, Square, Linear, Notion, Figma, Grafana, New Relic, Sentry, PostHog, Postman, Sourcegraph: API keys',
  },
  {
    name: 'token of Airtable',
    pattern: '\\bpat[A-Za-z0-9]{14}\\.[\\da-f]{40,}',
    source: 'Airtable: personal access tokens',
  },
  // Any service.
  {
    name: 'token of a header',
    pattern: `(?<=\\bBearer\\s{1,4})(?!REDACTED)${secret(12, '\\w.~+/-')}|(?<=\\bBasic\\s{1,4})(?!REDACTED)${secret(16, '\\w+/=')}`,
    source: 'RFC 6750, RFC 7617',
  },
  {
    name: 'JSON web token',
    pattern: '\\beyJ[\\w-]{10,}\\.eyJ[\\w-]{10,}(?:\\.[\\w-]+)?',
    source: 'RFC 7519',
  },
  {
    name: 'private key',
    pattern:
      '(?<=-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----)[\\w+/=\\s\\\\:,-]{20,}?(?=-----END|$)|\\bAGE-SECRET-KEY-1[A-Z0-9]{20,}',
    source: 'RFC 7468; age',
  },
  {
    name: 'signature in an address',
    pattern: inQuery(
      '(?:X-Amz-|X-Goog-|X-Oss-|q-)?[Ss]ignature|sig|X-Amz-(?:Credential|Security-Token)|X-Goog-Credential|Key-Pair-Id|Policy|hmac|hdnts|se_sig',
    ),
    source: 'Amazon S3 and CloudFront, Google Cloud Storage, Azure SAS, Alibaba OSS: signed addresses',
  },
  {
    name: 'credential in an address',
    pattern: `${inQuery('(?:access|refresh|id|auth|session|api|client)?[_-]?(?:token|key|secret)|apikey|subscription-key|auth|jwt|code|password|pwd')}|(?<=://[^\\s/:@"'<>]{1,64}:)(?!(?:pass|password|passwd|pwd|secret|changeme|\\*+|x+)@)[^\\s/:@"'<>{}$]{6,100}(?=@[\\w.[-])`,
    source: 'RFC 3986, user information; OAuth 2.0 in queries; Azure API Management',
  },
]

const CREDENTIAL = new RegExp(CREDENTIAL_FORMS.map(({ pattern }) => `(?:${pattern})`).join('|'), 'g')

/** Returns true for a match that is no credential any more: blanked, or a placeholder. */
const isReplaced = (found: string): boolean => blank(found) === found || found.includes('REDACTED')

/** Replaces every likely credential in a text. */
export const replaceCredentials = (text: string, change: (found: string) => string): string =>
  text.replace(CREDENTIAL, (found) => (isReplaced(found) ? found : change(found)))

/** Returns the offset of a likely credential and its form: `token of GitHub`; or null. */
export function findCredential(text: string): { readonly at: number; readonly form: string } | null {
  for (const { 0: found, index } of text.matchAll(CREDENTIAL)) {
    if (isReplaced(found)) continue
    const form = CREDENTIAL_FORMS.find(({ pattern }) => {
      const here = new RegExp(pattern, 'y')
      here.lastIndex = index
      return here.test(text)
    })
    return { at: index, form: form!.name }
  }
  return null
}

/** Minimum bits per character of a text without order. Words and names in code have less. */
const MIN_BITS = 3.7
/** Long tokens of one piece. Longer ones are images, vectors or sealed texts. */
const TOKEN = /(?<![\w+/=.-])[A-Za-z0-9_-]{20,128}(?![\w+/=-])/g
/** Names before a value that make a token without capitals a likely credential. */
const SECRET_BEFORE = /(?:key|token|secret|passw(?:or)?d|credential|auth)\w{0,12}["'\\\s:=]{1,6}$/i

/** Returns the offsets of tokens of no known form that may be credentials; the user has to say. */
export function suspectsIn(text: string): { readonly at: number; readonly start: string }[] {
  return [...text.matchAll(TOKEN)].flatMap(({ 0: token, index }) => {
    const isMixed = /[a-z]/.test(token) && /[A-Z]/.test(token) && /\d/.test(token)
    const isNamed = /\d/.test(token) && SECRET_BEFORE.test(text.slice(Math.max(0, index - 30), index))
    const isSuspect = (isMixed || isNamed) && !token.includes('REDACTED') && bitsOf(token) >= MIN_BITS
    return isSuspect ? [{ at: index, start: `${token.slice(0, 4)}…` }] : []
  })
}

/** Returns Shannon's entropy of a text, bits per character. */
function bitsOf(text: string): number {
  const counts = [...Map.groupBy(text, (character) => character).values()].map(({ length }) => length)
  return -counts.reduce((sum, count) => sum + (count / text.length) * Math.log2(count / text.length), 0)
}

/** Returns the secret that a text contains, with its encoding: `header cookie, in base64`; or null. */
export function findValue(text: string, values: SecretContent['values']): string | null {
  for (const [value, what] of values)
    for (const [form, written] of formsOf(value)) if (text.includes(written)) return `${what}, ${form}`
  return null
}

/** Placeholders that redaction writes, with the prefix of the id that they replace. */
const OWN_WORDS = /(?:[a-z]+[-_])?REDACTED_\d+/g

/** Returns the word of a prompt or an answer that a text contains as a separate word, or null. */
export const findWord = (text: string, words: SecretContent['words']): string | null =>
  (words.size > 0 && longWords(text.replace(OWN_WORDS, '')).find((word) => words.has(word.toLowerCase()))) ||
  null

/** Returns the words of at least 8 letters. Not `{8,}`: that overflows the stack on an image in base64. */
export const longWords = (text: string): readonly string[] => text.match(/[a-z]{8}[a-z]*/gi) ?? []

export function* formsOf(value: string): Generator<[form: string, written: string]> {
  const bytes = Buffer.from(value)
  yield ['as it is', value]
  yield ['URL-encoded', encodeURIComponent(value)]
  yield ['JSON-escaped', JSON.stringify(value).slice(1, -1)]
  yield ['in hexadecimal', bytes.toString('hex')]
  // Within a longer base64 text, a secret has three forms, one for each offset, and its first and last
  // characters depend on the text around it.
  for (const offset of [0, 1, 2]) {
    const whole = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const inner = whole.slice(offset === 0 ? 0 : offset + 1, -1)
    if (inner.length < 8) continue
    yield ['in base64', inner]
    yield ['in base64', inner.replaceAll('+', '-').replaceAll('/', '_')]
  }
}

/**
 * Content that must not be written: credentials and ids in any encoding, words of prompts and answers in
 * plain form.
 */
export interface SecretContent {
  /** Value -> its origin: `header set-cookie`, `an id`. */
  readonly values: ReadonlyMap<string, string>
  readonly words: ReadonlySet<string>
}
