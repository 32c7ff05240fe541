// Words that a redacted recording may contain: the words of the providers' interfaces. Field names and
// enumerated values stay if each of their parts is listed here; all other text is blanked. If a word is
// missing here, a field loses its name. If there is a word too many, it could come from an answer.
const PARTS = new Set(
  `
  above accepted access action active add added addition after age agent agentic ai aliases all allow
  allowed alternatives analysis annotation annotations answer anthropic any api apis applied approximate
  approximation apps architecture archived args argument arguments array arrival artificial assistant
  assistants async at attempt attempts attribution audio authentication authorization auto available avg
  azure b background bad base bash batch batchcomplete batches bearer before below benchmarks bias billable
  billed billing block blocked blocklist boolean breakdown budget busy by byok bytes cache cached call
  caller calling calls cancel canceled canceling cancellation cancelled cancelling candidate candidates
  canonical capabilities categories category chat check checkpoint choice choices chunk chunks citation
  citations cited classification claude clear closed code coding com commentary compact complete completed
  completion completions compound computer conflict container content contents context continuation conversation converse
  cost costs count country counts create created creation credential credits currency cutoff data date day
  decimal default delay deleted deleting delta demand denied deny deployment deployments deprecated
  deprecation description design detail details detected developer dimension dimensions direct disabled
  display document domain done dropped duration edit edits effort efforts embed embedding embeddings enabled
  encoding encrypted end ended endpoint engine enqueued entry enum environment ephemeral error errored errors eval event exceeded
  executable executed execution exhausted exists expected expiration expire expired expires face failed
  failure fallbacks family feedback fetch file files filter filtered filters final finalized finalizing fine
  fingerprint finish first flag flagged flash flex float forbidden format found fp free frequency full
  function gateway gemini gen generate generation generations geo global gone google googleapis graphic groq
  grounding h handled harassment harm has hate help high hit hugging id identifier ids illicit image images
  in inactive include incomplete index indexed indexing indices inference info initiated input inputs
  instruct instructions insufficient integer intelligence intent interaction interactions internal interpreter invalid invocation invoke is item
  items iterations jailbreak job jobs jpeg json judgement k keepalive key knowledge language last latency
  latest length lifecycle limit limited limits line link links list load local locale localized location
  locations logit logprob logprobs long low m malformed management mandatory many maps market match matched
  material max maximum mcp media medium memory message messages meta metadata method methods metric metrics mime
  min minimal minimum minors minute miss missing mistral modalities modality mode model models moderated
  moderation moderations modes month more ms multiple n name names namespace native next non none not null num number
  obfuscation object of off offset offsets ok on open openai openrouter operation option options or order
  original other out outcome output outputs over overloaded overrides owned owner p page parallel param
  parameter parameters parent part partial partially parts path pause paused payer payload payment penalty
  pending per permission phase ping plan planned planning point policy pre predict predicted prediction
  predictions prefix preparing presence preview previous price pricing priority processed processing
  progress prohibited projects prompt prompts protected provider proxy public publishers purpose quality
  queries query queue queued quota rank rate rating ratings raw reached read ready reason reasoning received
  recitation refusal region rejected relevance remaining rendered repetition request requested requests
  required requires rerank reset resolved resource response responses result results retention retires retriable
  retrieval retry retryable return returned revised role root routing rpc running safe safety sampling scale
  scheduled schema scope score scores search searchinfo searching second seconds seed segment segments self
  sequence server service session severity sexual side signature single size skipped slug snippet source
  sources spec special speech spend standard start started state statistics status stderr stdout step steps stop store stream
  strict string structured style submitted succeeded succeeding success successful suffix suggestions summary supported
  supports system task tbt temperature text texts thinking thought thoughts threatening ticks tier time
  timed timeout times timestamp timezone timings title to token tokenizer tokens too tool tools top total
  totalhits traffic transcript transcriptions transient translations truncated truncation try ttft ttlt tune
  tuning turn type types unauthenticated unauthorized unavailable unit units unknown unsupported update
  updated upload uploaded uploading upstream uri url urls usage usd use used user utf v valid validated
  validating validation value values verbosity version video violation violations violence violent visible
  vision voice voices wait waiting web weight win window write x xai
  `
    .trim()
    .split(/\s+/),
)

/** Returns the lower-case parts of a name: `promptTokenCount` → prompt, token, count. */
const partsOf = (name: string): string[] =>
  (name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).map((part) => part.toLowerCase())

/**
 * Returns true if a name or value consists only of interface words and at most 8 digits. This is never true
 * for the text of an answer.
 */
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

/** Additional words of addresses: paths of interfaces, and hosts that all customers share. */
const ADDRESS_PARTS = new Set(
  `
  ai aiplatform alpha amazonaws anthropic assistants asst async audio aws azure backends batches bedrock beta
  bigmodel bots cachedcontents catalog chats checkpoints classifications classify cli cloud clusters codes cohere
  collections compat compatible compute connectors containers conversations converse converter corpora corpus
  creations customizations dashscope data dataset datasets deepseek demo deploy detect detokenize discover documents
  downloads draw embeds endpoints engines environments eta evals evaluation evaluations events experimental
  experiments export exports extract extractions features files finetune finetunes finetuning forecast foundation
  functions games gateways generativelanguage generic graders graphs groups health heygen history huggingface
  identity imagine inpaint instances integrate interactions intl invocations items jobs jwks keys labels layouts lib libraries
  library list live llm llms logs loras lora machine mantle masks me mistralai moonshot multimodal music notebooks
  nodes notes nvidia ocr offline omni online oauth operations org orgs outpaint paas pages parse parsers partners pdf
  people permissions pipelines pipeline plans platform playground plugins practice presets preview process profile
  profiles programs project proofs qwen raws rankings ranker ranking recordings reduce regions replicate replies
  reports rerankers retrieve roles router run runs runpod runsync runtime sandbox sandboxes schedules sdk secrets
  serverless services sessions share similarity skills snapshots sound spaces speeches speechs stage states stats
  steps storage stores studio submit subscribe suggest suggestions summarize summaries synthesis synthesize tags tasks
  teams template templates tenants test threads together tokenize tokenization trace traces train training transcribe
  translate transform tts stt tuned understand upload uploads upscale users v variation variations vector vectors
  verify versions vertex vertexai videos view vllm voicemail webhook webhooks with widgets workers workflow workflows
  workspace workspaces x xi zen
  `
    .trim()
    .split(/\s+/),
)

const REGION =
  /^(?:global|(?:us|eu|ap|af|ca|me|sa|il|cn|asia|europe|australia)-(?:[a-z]+-)?(?:north|south|east|west|central|northeast|southeast|northwest|southwest)-?\d{1,2})$/

/** Returns true for a provider's region. */
export const isRegion = (name: string): boolean => REGION.test(name)

/** Returns true if a path segment or a host label belongs to the interface: words of addresses, or a region. */
export const isPathWord = (segment: string): boolean =>
  isRegion(segment) ||
  (segment.length <= 60 &&
    /^[\w.:-]+$/.test(segment) &&
    segment.replace(/\D/g, '').length <= 4 &&
    partsOf(segment).length > 0 &&
    partsOf(segment).every((part) => PARTS.has(part) || ADDRESS_PARTS.has(part)))

/** Parts of public models' names, in addition to numbers, sizes and dates. */
const MODEL_PARTS = new Set(
  `
  ada ai amazon anthropic apac audio babbage beta chat claude code codellama codestral codex coder cohere command computer dall davinci deep
  deepseek distill e embed eu embedding embeddings english exp experimental fast flash gemini global google granite gemma glm gpt grok guard haiku
  hd high image imagen instant instruct jamba k kimi large latest light lite llama low luna magistral maverick max medium meta
  micro mini ministral mistral mixtral moderation multilingual multimodal nano nemo nomic non nova o omni openai opus oss
  phi pixtral plus preview pro qwen r realtime reasoner reasoning rerank research scout search small sonnet sora text
  thinking titan transcribe tts turbo ultra us use v vision whisper
  `
    .trim()
    .split(/\s+/),
)

/**
 * Returns true if a name could be that of a public model: `gpt-5-mini-2025-08-07`. Returns false for a
 * customer's own model.
 */
export function isPublicModel(name: string): boolean {
  const pieces = name.toLowerCase().split(/[-._:/@]/)
  const isWord = (piece: string) => MODEL_PARTS.has(piece)
  return (
    name.length <= 60 &&
    pieces.some((piece) => isWord(piece.replace(/\d+$/, ''))) &&
    pieces.every(
      (piece) =>
        isWord(piece.replace(/\d{1,2}$/, '')) || /^(?:\d{1,8}[a-z]?|\d{1,2}x\d{1,3}b|a\d{1,2}b)$/.test(piece),
    )
  )
}

/** Words in the names of companies that serve models, which a router reports as the source of an answer. */
const PROVIDER_PARTS = new Set(
  `
  ai aion aionlabs akash alibaba amazon and anthropic arcee atlas atlascloud atoma avian azure baidu base baseten bedrock
  biases black by cent centml cerebras chutes cirrascale clarifai cloud cloudflare cohere compute crofai crusoe deepinfra
  deepseek enfer featherless fireworks forest friendli gmi gmicloud google gpu groq hyperbolic inception inceptron infermatic
  inference inflection io jina kluster labs lambda lepton liquid mancer mara meta microsoft minimax mistral ml modelrun
  modal mongodb moonshot morph nano ncompass near nebius net nextbit nineteen novita nvidia open openai openinference
  openrouter parasail perplexity phala qianfan recraft relace replicate sambanova seed sf siliconflow sourceful stability
  stealth streamlake studio switchpoint targon tencent together ubicloud upstage venice vercel vertex volcengine voyage
  voyageai wandb weights writer x xai xiaomi z
  `
    .trim()
    .split(/\s+/),
)

/** Returns true if a text is the name of a company that serves models: `Google AI Studio`. */
export const isProviderName = (name: string): boolean =>
  name.length <= 40 &&
  /^[A-Za-z][A-Za-z .-]*\d?$/.test(name) &&
  name
    .toLowerCase()
    .split(/[ .-]+/)
    .every((word) => PROVIDER_PARTS.has(word.replace(/\d$/, '')))

/** Returns true for a field whose text only the provider can read, such as encrypted reasoning and its signature. */
export const isSealed = (name: string): boolean =>
  /^(?:signature|thought_?signature|(?:reasoning_)?encrypted_?\w*|encryptedContent|redacted_?content)$/i.test(
    name,
  )

/** Returns true for a field that holds a credential. */
export const isSecretName = (name: string): boolean =>
  /^(?:(?:access|refresh|id|auth|session|bearer|api|csrf|xsrf|client|security|personal|device|secret|private|authorization)[_-]?(?:access[_-]?)?(?:token|key|secret|code)|.*[_-]?(?:password|passphrase|passwd)|pwd|pin|otp|secret|authorization|proxy-authorization|cookie|set-cookie|x-api-key)$/i.test(
    name,
  )
