// The words that a redacted recording may hold: those that the providers' interfaces are built of. Names of fields,
// and the values of fields that take one of a few words, are kept when each of their parts stands here; all other
// text is blanked. A word that is missing costs a field its name; a word too many could be a word of an answer.
const PARTS = new Set(
  `
  above accepted access action active add added addition after age agent agentic ai aliases all allow
  allowed alternatives analysis annotation annotations answer anthropic any api apis applied approximate
  approximation apps architecture args argument arguments array arrival artificial assistant async at
  attempt attempts attribution audio authentication authorization auto available avg b background bad base
  bash batch batchcomplete batches bearer before below benchmarks bias billable billed billing block blocked
  blocklist boolean breakdown budget busy by byok bytes cache cached call caller calling calls cancel
  cancelled candidate candidates canonical capabilities categories category chat check checkpoint choice
  choices chunk chunks citation citations cited classification claude clear closed code coding com
  commentary compact complete completed completion completions compound computer conflict container content
  contents context conversation converse cost costs count country create created creation credential credits
  currency cutoff data date day decimal default delay delta demand denied deny deployment deployments
  deprecated deprecation description design detail details detected developer dimension dimensions direct
  disabled display document domain done dropped duration edit edits effort efforts embed embedding
  embeddings enabled encoding encrypted end engine entry enum ephemeral error errors eval exceeded
  executable executed execution exhausted exists expected expiration expire expired expires face failed
  failure fallbacks family feedback fetch file filter filtered filters final fine fingerprint finish first
  flag flagged flash flex float forbidden format found fp free frequency full function gateway gen generate
  generation generations geo global gone google googleapis graphic groq grounding h handled harassment harm
  has hate help high hit hugging id identifier ids illicit image images in include incomplete index indices
  inference info input inputs instruct instructions insufficient integer intelligence intent internal
  interpreter invalid invoke is item items iterations jailbreak job jpeg json judgement k keepalive key
  knowledge language last latency latest length lifecycle limit limited limits line link links list load
  local locale localized location locations logit logprob logprobs long low m malformed management mandatory
  many market match matched material max maximum mcp media medium memory message messages meta metadata
  method methods metric metrics min minimal minimum minors minute miss missing mistral modalities modality
  mode model models moderated moderation moderations modes month more ms multiple n name names native next
  none not null num number obfuscation object of off offset offsets ok on open openai openrouter operation
  option options or order original other out outcome output outputs over overloaded overrides owned owner p
  page parallel param parameter parameters parent part partial parts path pause payer payload payment
  penalty pending per permission phase ping plan planned planning point policy pre predict predicted
  prediction predictions prefix presence preview previous price pricing priority processing progress
  prohibited projects prompt prompts protected provider proxy public publishers quality queries query queue
  queued quota rank rate rating ratings raw reached read ready reason reasoning received recitation refusal
  region rejected relevance remaining rendered repetition request requests required rerank reset resolved
  resource response responses result results retention retires retriable retrieval retry retryable return
  returned revised role root routing rpc running safe safety sampling scale schema scope score scores search
  searchinfo searching second seconds seed segment segments self sequence server service session severity
  sexual side signature single size slug snippet source sources spec special speech spend standard start
  started statistics status stderr stdout stop store stream strict string structured style succeeded success
  successful suffix summary supported supports system task tbt temperature text texts thinking thought
  thoughts threatening ticks tier time timed timeout times timestamp timezone timings title to token
  tokenizer tokens too tool tools top total totalhits traffic transcript transcriptions transient
  translations truncated truncation try ttft ttlt tune tuning turn type types unauthenticated unauthorized
  unavailable unit units unknown unsupported update updated upload upstream uri url urls usage usd use used
  user utf valid validation value values verbosity version video violation violations violence violent
  visible vision voice voices wait web weight win window write x xai
  `
    .trim()
    .split(/\s+/),
)

/** The lower-case parts of a name: `promptTokenCount` → prompt, token, count. */
const partsOf = (name: string): string[] =>
  (name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).map((part) => part.toLowerCase())

/** Whether a name or value is built of the words of the interfaces and of up to 8 digits in all: no text is. */
export function isStructural(name: string): boolean {
  const parts = partsOf(name)
  return (
    name.length <= 80 &&
    parts.length > 0 &&
    /^[\w.:/@+>-]+$/.test(name) &&
    name.replace(/\D/g, '').length <= 8 &&
    parts.every((part) => PARTS.has(part))
  )
}
