// A gateway with the toy dialect, as a separate process for tests that kill it. Arguments: the provider's
// base URL and the data folder.
import { parseConfig } from '../../config/load.ts'
import { createGateway } from '../../gateway/create-gateway.ts'
import { toy } from './toy.ts'

const [baseUrl, data] = process.argv.slice(2)
const loaded = parseConfig(
  `server: { port: 0 }
data: ${data}
providers: { alpha: { dialect: openai, base_url: "${baseUrl}" } }
routes: { auto: { targets: [ { model: alpha/m } ] } }`,
  'toy.yaml',
  { env: {} },
)
Object.assign(loaded.config.providers.alpha!, { dialect: ['toy'] })
const { url } = await createGateway({ ...loaded, dialects: { toy } })
console.log(`listens on ${url}`)
