// Writes the table of requests that can spend money at a provider, from the definition that the gateway, the
// mocks and the suite share.
import { SPENDING } from '../../src/shared/spending.ts'

export const spendingTable = (): string =>
  [
    '| method | path below the base URL | spends | what |',
    '|---|---|---|---|',
    ...SPENDING.map(
      ({ method, path, spends, about }) =>
        `| ${method === '*' ? 'any other' : method} | ${path === '{…}' ? 'any other' : `\`${path}\``} | ${spends} | ${about} |`,
    ),
  ].join('\n')
