// Channels of one-api and its forks, as returned by `GET /api/channel/`. Each has a type, an address, a key
// and the models that it serves. Channels with the same model become its targets.
import {
  baseOf,
  type ConfigDraft,
  type DraftTarget,
  type ForeignFields,
  type ForeignFormat,
  fields,
  list,
  noteOthers,
  number,
  text,
  variableFor,
  vendorOf,
} from './draft.ts'

export const oneApi = {
  name: 'one-api',
  isOne: (file) => channelsIn(file).some((each) => 'models' in fields(each) && 'type' in fields(each)),
  read(file: unknown, draft) {
    const served = new Map<string, { readonly target: DraftTarget; readonly priority: number }[]>()
    const channels = channelsIn(file)
    if (channels.length > 0 && channels.length % PAGE === 0)
      draft.note(
        'the list',
        `one-api answers ${PAGE} channels at a time; if there are more, ask for ?p=1 and so on, and put the answers into one list: [first, second]`,
      )
    channels.forEach((given, index) => {
      const channel = fields(given)
      const where = `channel ${index + 1}${text(channel.name) ? ` (${text(channel.name)})` : ''}`
      for (const { asked, target } of modelsOf(channel, where, draft))
        served.set(asked, [...(served.get(asked) ?? []), { target, priority: number(channel.priority) ?? 0 }])
    })
    for (const [asked, targets] of served) draft.routes[asked] = routeOf(asked, targets, draft)
    draft.note(
      'keys of callers',
      'they are not in this file; `waybill key new NAME` makes one for each caller',
    )
  },
} satisfies ForeignFormat

/** Channels in one answer of the API. */
const PAGE = 10

/** A list, the API's wrapper around it, or a list of such answers. */
const channelsIn = (file: unknown): readonly unknown[] => {
  const { data, channels } = fields(file)
  return Array.isArray(file)
    ? file.flatMap((each) => ('models' in fields(each) ? [each] : channelsIn(each)))
    : list(list(data ?? channels).length > 0 ? (data ?? channels) : fields(data).items)
}

/** Names of the types that need no separate address, by number. */
const VENDORS: Readonly<Record<number, string>> = {
  1: 'openai',
  14: 'anthropic',
  17: 'dashscope',
  20: 'openrouter',
  24: 'gemini',
  25: 'moonshot',
  28: 'mistral',
  29: 'groq',
  30: 'ollama',
  36: 'deepseek',
  39: 'together',
}
/** Types that have their own API and no OpenAI-compatible address. */
const OWN_INTERFACES = [3, 11, 15, 18, 21, 23, 33, 34, 35, 37, 38]

function modelsOf(
  channel: ForeignFields,
  where: string,
  draft: ConfigDraft,
): { asked: string; target: DraftTarget }[] {
  const type = number(channel.type) ?? 0
  const vendor = vendorOf(VENDORS[type] ?? '')
  const given = text(channel.base_url)
  const address = given && draft.address(where, given)
  if (number(channel.status) !== undefined && number(channel.status) !== 1) {
    draft.note(where, 'it is switched off there, and was left out')
    return []
  }
  if (OWN_INTERFACES.includes(type) || (!vendor && !address)) {
    draft.note(
      where,
      `providers of its type (${type}) need more than an address and a key, or the address is not in the file; add it by hand`,
    )
    return []
  }
  const name = text(channel.name) ?? vendor?.name ?? `channel-${channel.id}`
  const isChat = !vendor || vendor.dialect.includes('chat')
  const provider = draft.provider({
    name,
    dialect: address && isChat ? ['chat'] : vendor!.dialect,
    baseUrl: address ? (isChat ? withVersion(address) : baseOf(address)) : vendor!.baseUrl,
    keyVariable: type === 30 ? null : variableFor(name),
  })
  if (type !== 30)
    draft.note(
      `${where}: key`,
      `keys do not belong in the file; put it into the variable ${variableFor(name)}${
        String(channel.key ?? '')
          .trim()
          .includes('\n')
          ? ', one of them; give the provider `keys` for several'
          : ''
      }`,
    )
  if (text(channel.group) && text(channel.group) !== 'default')
    draft.note(
      `${where}: group`,
      'callers see every route; give each group a gateway of its own if it must not',
    )
  noteOthers(draft, `${where}: `, channel, READ, ADVICE)
  const renamed = mappingOf(channel.model_mapping, where, draft)
  return String(channel.models ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean)
    .map((asked) => ({
      asked,
      target: { model: `${provider}/${renamed[asked] ?? asked}`, weight: number(channel.weight) ?? 0 },
    }))
}

/** Settings that are read, and members that describe a channel's history instead of its configuration. */
const READ = [
  ...[
    'id',
    'type',
    'key',
    'status',
    'name',
    'weight',
    'base_url',
    'models',
    'group',
    'model_mapping',
    'priority',
  ],
  ...[
    'created_time',
    'test_time',
    'response_time',
    'balance',
    'balance_updated_time',
    'used_quota',
    'config',
    'other',
  ],
  ...[
    'auto_ban',
    'test_model',
    'tag',
    'other_info',
    'channel_info',
    'settings',
    'remark',
    'openai_organization',
  ],
]
const ADVICE: Readonly<Record<string, string>> = {
  system_prompt: 'the gateway adds nothing to a conversation',
  param_override: 'write it as `request.set` of the target',
  header_override: 'write it as `request.headers` of the target',
  setting: 'look at what it holds; a proxy is set by HTTPS_PROXY in the environment',
  status_code_mapping: 'the client gets the status of the provider',
}

function mappingOf(given: unknown, where: string, draft: ConfigDraft): Readonly<Record<string, string>> {
  if (typeof given !== 'string') return fields(given) as Record<string, string>
  try {
    return given.trim() === '' ? {} : (fields(JSON.parse(given)) as Record<string, string>)
  } catch {
    draft.note(
      `${where}: model_mapping`,
      'it is not valid JSON; models are asked for by the names in `models`',
    )
    return {}
  }
}

const withVersion = (address: string): string =>
  /\/v\d\w*(\/|$)/.test(address.replace(/^https?:\/\/[^/]*/, '')) ? baseOf(address) : `${baseOf(address)}/v1`

function routeOf(
  asked: string,
  served: readonly { readonly target: DraftTarget; readonly priority: number }[],
  draft: ConfigDraft,
) {
  const ordered = served.toSorted((a, b) => b.priority - a.priority)
  const targets = ordered.map(({ target: { weight: _, ...target } }) => target)
  if (ordered.length === 1) return { targets }
  if (new Set(ordered.map(({ priority }) => priority)).size === 1) {
    const weights = ordered.map(({ target }) => target.weight ?? 0)
    return weights.every((each) => each === weights[0])
      ? { strategy: 'random' as const, targets }
      : { strategy: 'weighted' as const, targets: ordered.map(({ target }) => target) }
  }
  if (new Set(ordered.map(({ priority }) => priority)).size < ordered.length)
    draft.note(
      `route ${asked}`,
      'channels of equal priority are tried in turn after a failure, not drawn by weight',
    )
  return { targets }
}
