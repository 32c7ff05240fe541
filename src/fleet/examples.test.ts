// The examples for operators: what they say of Waybill is a configuration that it takes, and no secret stands in them.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { parseConfig } from '../config.ts'

const read = (file: string): string => readFileSync(join(import.meta.dirname, '../..', file), 'utf8')

test('the Kubernetes example: its configuration is valid, its probes exist, its secret is elsewhere', () => {
  const text = read('examples/kubernetes.yaml')
  const documents = parseAllDocuments(text).map((document) => document.toJS() as any)
  const of = (kind: string) => documents.find((each) => each.kind === kind)
  const env = { WAYBILL_FLEET_URL: 'postgresql://a:b@c/d', OPENAI_API_KEY: 'k' }
  const { config, fleetUrl } = parseConfig(of('ConfigMap').data['waybill.yaml'], 'kubernetes.yaml', { env })
  assert.equal(config.durability, 'full')
  assert.equal(fleetUrl, env.WAYBILL_FLEET_URL)
  const [container] = of('StatefulSet').spec.template.spec.containers
  assert.equal(container.readinessProbe.httpGet.path, '/readyz')
  assert.equal(container.livenessProbe.httpGet.path, '/healthz')
  assert.equal(of('PodDisruptionBudget').spec.maxUnavailable, 1)
  assert.equal(of('Secret'), undefined)
})

test('compose.fleet.yaml: three gateways with names and journals of their own, the password from the environment', () => {
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
  assert.deepEqual(Object.keys(services).slice(3), ['balancer', 'postgres', 'witness'])
})
