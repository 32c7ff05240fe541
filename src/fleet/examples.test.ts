// Example configurations for operators. Waybill accepts them, and they contain no secret.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { parseConfig } from '../config/load.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

test('the Helm chart has a valid configuration, alone and in a fleet; its probes exist, and it contains no secret', () => {
  const { config: values, secret } = parse(read('examples/helm/waybill/values.yaml'))
  const env = { WAYBILL_FLEET_URL: 'postgresql://a:b@c/d', OPENAI_API_KEY: 'k' }
  const { config } = parseConfig(stringify(values), 'values.yaml', { env })
  assert.equal(config.server.host, '0.0.0.0')
  const several = { ...values, durability: 'shared', fleet: { url: '$WAYBILL_FLEET_URL' } }
  assert.equal(parseConfig(stringify(several), 'values.yaml', { env }).fleetUrl, env.WAYBILL_FLEET_URL)
  assert.equal(secret, 'waybill', 'the name of one that is made elsewhere')
  const template = read('examples/helm/waybill/templates/waybill.yaml')
  for (const probe of [
    'livenessProbe: { httpGet: { path: /healthz',
    'readinessProbe: { httpGet: { path: /readyz',
  ])
    assert.ok(template.includes(probe), probe)
  assert.doesNotMatch(template, /kind: Secret/)
})

test('Helm renders the chart as one gateway, or as a fleet with a disruption budget', (t) => {
  const helm = (...set: string[]) =>
    spawnSync(
      'helm',
      ['template', 'waybill', 'examples/helm/waybill', ...set.flatMap((each) => ['--set', each])],
      {
        cwd: root,
        encoding: 'utf8',
      },
    )
  const kinds = (stdout: string) => parseAllDocuments(stdout).map((document) => document.toJS()?.kind)
  const one = helm()
  if (one.error) return t.skip('helm is not on the PATH')
  assert.deepEqual(kinds(one.stdout).toSorted(), ['ConfigMap', 'Service', 'StatefulSet'], one.stderr)
  assert.match(helm('replicas=3').stderr, /more than one replica needs config\.fleet/)
  const fleet = helm('replicas=3', 'config.fleet.url=$WAYBILL_FLEET_URL', 'persistence.enabled=false')
  const wanted = ['ConfigMap', 'Deployment', 'PodDisruptionBudget', 'Service']
  assert.deepEqual(kinds(fleet.stdout).toSorted(), wanted, fleet.stderr)
})

test('compose.fleet.yaml has three gateways with separate names and journals, and reads the password from the environment', () => {
  const text = read('compose.fleet.yaml')
  const { services, volumes } = parse(text, { merge: true }) as any
  const gateways = Object.entries<any>(services).filter(([name]) => name.startsWith('gateway-'))
  assert.equal(gateways.length, 3)
  for (const [name, { environment, volumes: mounts }] of gateways) {
    assert.equal(environment.WAYBILL_INSTANCE, name)
    assert.match(environment.WAYBILL_FLEET_URL, /:\$\{POSTGRES_PASSWORD:\?/)
    assert.equal(mounts[0], `${name}:/data`)
    assert.ok(name in volumes)
  }
  assert.deepEqual(Object.keys(services).slice(3), ['balancer', 'postgres', 'mock'])
})
