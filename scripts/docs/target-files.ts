// Turns the JSON Schema of target files into the page docs/target-files.md. Pure.
import type { JsonSchema } from '../../src/yaml/json-schema.ts'
import { settingsPage } from './configuration.ts'

const HEAD = `# Target files

<!-- Written by \`npm run docs\` from conformance/target/schema.ts. -->

A target file describes how your gateway is started, how it is connected to the mock, and what it promises. [conformance.md](conformance.md) explains target files step by step; this page lists every field. \`waybill target init\` asks for the most important fields and writes a file. \`waybill target check FILE\` names every mistake in a file with its line, starts the gateway and makes one call.

With this first line, editors that use the YAML language server complete the file and mark mistakes while you type; the path points to [target.schema.json](target.schema.json) in the package:

\`\`\`yaml
# yaml-language-server: $schema=./node_modules/waybill/docs/target.schema.json
\`\`\`

A file needs \`name\`, \`start\`, \`providers\` and \`models\`, or \`extends\`. \`start\` has one of four forms: \`url\`, \`command\`, \`image\` with \`port\`, or \`inproc\`. \`<name>\` stands for a name that you choose, \`[]\` for each entry of a list. \`required\` means that there is no default: if the enclosing section is present, this field must be present too. A *JSON pointer* (RFC 6901) such as \`/data/0/id\` names the place of a value in an answer.

Every text may contain placeholders, which are filled in for each run:

| placeholder | what it is |
|---|---|
| \`{{mock.NAME.base_url}}\` | the mock as this provider, with \`/v1\`: \`{{mock.openai.base_url}}\` |
| \`{{mock.NAME.root}}\` | the same without \`/v1\` |
| \`{{mock.host}}\` | host and port of the mock, for gateways that need them without \`http://\` |
| \`{{mock.NAME.key}}\` | the key that the mock accepts as this provider |
| \`{{port}}\`, \`{{dir}}\` | a free port, and the directory of this instance |
| \`{{key.client}}\`, \`{{key.other}}\`, \`{{key.admin}}\` | gateway keys, made for this run |
| \`{{digest.client}}\` and so on | \`sha256:\` and the digest of this key |
| \`{{env.NAME}}\` | an environment variable of the suite |
| \`{{node}}\`, \`{{project}}\`, \`{{image}}\` | the Node that runs the suite, the directory of its package, and its image |
`

/** Returns the page. Settings that a file without `extends` needs are marked as required. */
export const targetFilesPage = ({ anyOf = [], ...schema }: JsonSchema): string =>
  settingsPage(HEAD, {
    ...schema,
    required: anyOf.flatMap(({ required = [] }) => required.filter((name) => name !== 'extends')),
  })
