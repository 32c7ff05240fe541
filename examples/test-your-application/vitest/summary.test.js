import { afterEach, beforeEach, expect, test } from 'vitest'
import { interceptProviders } from 'waybill/mocks'
import { summarize } from '../node/summary.js'

let providers
beforeEach(() => {
  providers = interceptProviders() // from now on, this process cannot reach a provider
})
afterEach(() => providers.dispose())

const at = (model) => ({ url: 'https://api.openai.com/v1', key: 'any', model })

test('a text is summarized by one valid call', async () => {
  expect(await summarize('A waybill lists the goods of a consignment.', at('gpt-5.4'))).toMatch(
    /recorded answer/,
  )
  expect(providers.entries().map(({ model, problems }) => ({ model, problems }))).toEqual([
    { model: 'gpt-5.4', problems: [] },
  ])
})

test('a busy provider is reported in plain words', async () => {
  await expect(summarize('Anything.', at('scenario-429'))).rejects.toThrow('the provider is busy')
})
