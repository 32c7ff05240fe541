// Providers by the names that other gateways use: address, dialect and usual variable for the key. The
// presets of `waybill init` have precedence. Independent of file formats.
import { PRESETS } from '../../config/presets.ts'
import type { ForeignProvider } from './draft.ts'

type Vendor = Omit<ForeignProvider, 'name'>

const chat = (baseUrl: string, keyVariable: string | null): Vendor => ({
  dialect: ['chat'],
  baseUrl,
  keyVariable,
})

const FURTHER: Readonly<Record<string, Vendor>> = {
  together: chat('https://api.together.xyz/v1', 'TOGETHERAI_API_KEY'),
  deepinfra: chat('https://api.deepinfra.com/v1/openai', 'DEEPINFRA_API_KEY'),
  nvidia: chat('https://integrate.api.nvidia.com/v1', 'NVIDIA_NIM_API_KEY'),
  sambanova: chat('https://api.sambanova.ai/v1', 'SAMBANOVA_API_KEY'),
  huggingface: chat('https://router.huggingface.co/v1', 'HF_TOKEN'),
  dashscope: chat('https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'DASHSCOPE_API_KEY'),
  zai: chat('https://api.z.ai/api/paas/v4', 'ZAI_API_KEY'),
  zhipu: chat('https://open.bigmodel.cn/api/paas/v4', 'ZHIPU_API_KEY'),
  siliconflow: chat('https://api.siliconflow.cn/v1', 'SILICONFLOW_API_KEY'),
  ollama: chat('http://localhost:11434/v1', null),
  'lm-studio': chat('http://localhost:1234/v1', null),
  vllm: chat('http://localhost:8000/v1', null),
}

/** Other spellings of the providers' names. */
const SPELLINGS: Readonly<Record<string, string>> = {
  together_ai: 'together',
  nvidia_nim: 'nvidia',
  fireworks_ai: 'fireworks',
  cohere_chat: 'cohere',
  text_completion_openai: 'openai',
  ollama_chat: 'ollama',
  lm_studio: 'lm-studio',
  hosted_vllm: 'vllm',
}

/** Returns a provider by its name; null for an unknown name. */
export function vendorOf(spelling: string): (Vendor & { readonly name: string }) | null {
  const name = SPELLINGS[spelling] ?? spelling
  const preset = PRESETS.find((each) => each.name === name)
  if (preset) {
    const { dialect, baseUrl, keyVariable } = preset
    const isOpenAi = name === 'openai'
    return { name, dialect: isOpenAi ? [...dialect, 'embeddings', 'images'] : dialect, baseUrl, keyVariable }
  }
  return Object.hasOwn(FURTHER, name) ? { name, ...FURTHER[name]! } : null
}
