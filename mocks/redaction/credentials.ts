// Forms of credentials, each with the document that describes it. Data only: to add a form, add a row. Letters and
// digits after a prefix must contain a digit, so that a word such as `sk-learn` is no key.

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

export const CREDENTIAL_FORMS: readonly CredentialForm[] = [
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
