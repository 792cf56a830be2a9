/** Tests the kustomize base of `kubeloop manifests --out`, and what kubectl makes of it. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { loadAll } from 'js-yaml'
import { operator } from 'kubeloop'
import { Lease } from 'kubeloop/kinds'
import type { ManifestObject } from '../../lib/cli/manifests.ts'
import { parseImage } from '../../lib/cli/deploy/image.ts'
import { kustomizeCaution, kustomizeFiles } from '../../lib/cli/deploy/kustomize.ts'
import { sortedJson } from '../../lib/core/equal.ts'
import { withFolder } from '../tools/folder.ts'
import { fullOperator, IMAGE, objectsOf, writeAll } from './deploy_sample.ts'
import { goldenCases, valueLines } from './golden.ts'

const DIGEST = `sha256:${'a'.repeat(64)}`

for (
  const [text, expected] of [
    ['site', ['site', undefined, undefined]],
    ['host:5000/a/b_c/d-e:v1.0_x', ['host:5000/a/b_c/d-e', 'v1.0_x', undefined]],
    [`Host.example.com/a:1@${DIGEST}`, ['Host.example.com/a', '1', DIGEST]],
    [`[::1]:5000/a@${DIGEST}`, ['[::1]:5000/a', undefined, DIGEST]],
    ['Site', undefined],
    ['site:', undefined],
    ['site:-1', undefined],
    ['a//b', undefined],
    ['https://host/a', undefined],
    ['a b', undefined],
    ['a@sha256:12', undefined],
    [`a:${'x'.repeat(129)}`, undefined],
    ['a'.repeat(256), undefined],
  ] as const
) {
  test(`the image ${text.slice(0, 30)} is ${expected ? 'read' : 'refused'}`, () => {
    const image = parseImage(text)
    assert.deepEqual(image && [image.repository, image.tag, image.digest], expected)
  })
}

test('the files of an operator with everything are those of the golden file', async () => {
  const options = { image: IMAGE, createNamespace: true, replicas: 2, serviceMonitor: true }
  const files = kustomizeFiles(await objectsOf(fullOperator(), options))
  // One file as it is written, and the values in the others.
  const cases = [...files].map(([name, text]) => {
    const lines = text.trimEnd().split('\n')
    const values = loadAll(text).flatMap((object) => valueLines(object, (object as ManifestObject).kind))
    return [name, name === 'kustomization.yaml' ? lines : [lines[0]!, ...values]] as const
  })
  goldenCases('full_base.txt', cases)
})

test('the objects in the files are those of standard output', async () => {
  const objects = await objectsOf(fullOperator(['east']))
  const files = kustomizeFiles(objects)
  const written = [...files].filter(([name]) => name !== 'kustomization.yaml').flatMap(([, text]) => loadAll(text))
  assert.deepEqual(
    JSON.parse(JSON.stringify(written).replace(/registry.example.com\/full/, '$&:1.2.3')),
    [...Map.groupBy(objects, ({ kind }) => kind.includes('Role') || kind === 'ServiceAccount' ? 'rbac' : kind).values()]
      .flat(),
  )
})

for (
  const [image, entry] of [
    ['a/b:1.2', { name: 'a/b', newTag: '1.2' }],
    ['a/b', { name: 'a/b', newName: 'a/b' }],
    [`a/b:1@${DIGEST}`, { name: 'a/b', newTag: '1', digest: DIGEST }],
    [`a/b@${DIGEST}`, { name: 'a/b', digest: DIGEST }],
  ] as const
) {
  test(`the image ${image.slice(0, 12)} is an entry of images`, async () => {
    const files = kustomizeFiles(await objectsOf(fullOperator(), { image }))
    const [kustomization] = loadAll(files.get('kustomization.yaml')!) as { images: object[] }[]
    assert.deepEqual(kustomization!.images, [entry])
    assert.match(files.get('deployment.yaml')!, /image: "?a\/b"?$/m)
  })
}

test('what an overlay must not set is said, and only then', async () => {
  assert.equal(kustomizeCaution(await objectsOf(fullOperator())), undefined)
  assert.equal(
    kustomizeCaution(await objectsOf(fullOperator(['west', 'east']))),
    'An overlay must not set "namespace": that moves the objects in east, west; give --namespace instead',
  )
  // The API server must not call the operator for the Lease that it needs to lead.
  const app = operator({ name: 'a', leaderElection: true })
  app.admission(Lease, { validate: () => [] }, { failurePolicy: 'Ignore' })
  const objects = await objectsOf(app)
  assert.equal(
    kustomizeCaution(objects),
    'An overlay must not set "namespace": the webhooks leave out objects by its name; give --namespace instead',
  )
  assert.match(kustomizeFiles(objects).get('kustomization.yaml')!, /^# An overlay must not set "namespace"/m)
  const certified = await objectsOf(fullOperator(undefined, { certs: '/certs' }), { image: IMAGE, certManager: true })
  assert.equal(
    kustomizeCaution(certified),
    'An overlay must not set "namespace": the Certificate has its name; give --namespace instead',
  )
  const byUrl = await objectsOf(fullOperator(undefined, { url: 'https://a' }), { image: IMAGE, certManager: true })
  // That of the metrics always has the name.
  const others = byUrl.filter(({ metadata: { name } }) => !name.startsWith('full-metrics'))
  assert.equal(kustomizeCaution(others), kustomizeCaution(certified))
  const service = { name: 'hooks', namespace: 'elsewhere' }
  assert.equal(
    kustomizeCaution(await objectsOf(fullOperator(undefined, { service }))),
    'An overlay must not set "namespace": the Service of the conversions is in another one; give --namespace instead',
  )
  const names = ['crds', 'rbac', 'service', 'certificates', 'deployment', 'poddisruptionbudget', 'networkpolicy']
  assert.deepEqual(
    [...kustomizeFiles(certified).keys()],
    ['kustomization', ...names, 'webhooks'].map((name) => `${name}.yaml`),
  )
  const monitored = await objectsOf(fullOperator(), { image: IMAGE, serviceMonitor: true })
  assert.equal(
    kustomizeCaution(monitored),
    'An overlay must not set "namespace": the ServiceMonitor expects a certificate with its name; give --namespace instead',
  )
})

const assets = process.env['KUBEBUILDER_ASSETS']
const skip = assets ? false : 'KUBEBUILDER_ASSETS is not set: no kubectl'

function kustomize(folder: string): ManifestObject[] {
  return loadAll(
    execFileSync(join(assets!, 'kubectl'), ['kustomize', folder], { encoding: 'utf8' }),
  ) as ManifestObject[]
}

const sorted = (objects: readonly ManifestObject[]): string[] => objects.map(sortedJson).sort()

test('kubectl kustomize makes the objects of standard output', { skip }, () =>
  withFolder(async (folder) => {
    for (const image of [IMAGE, `${IMAGE}@${DIGEST}`, 'full']) {
      const objects = await objectsOf(fullOperator(['east', 'west']), { image, createNamespace: true })
      writeAll(folder, kustomizeFiles(objects))
      assert.deepEqual(sorted(kustomize(folder)), sorted(objects))
    }
  }))

async function overlaid(folder: string, app = fullOperator(), overlay: object): Promise<ManifestObject[]> {
  writeAll(join(folder, 'base'), kustomizeFiles(await objectsOf(app, { image: IMAGE, createNamespace: true })))
  const head = { apiVersion: 'kustomize.config.k8s.io/v1beta1', kind: 'Kustomization', resources: ['../base'] }
  writeAll(folder, new Map([['overlay/kustomization.yaml', JSON.stringify({ ...head, ...overlay })]]))
  return kustomize(join(folder, 'overlay'))
}

test('an overlay sets namespace, tag and replicas', { skip }, () =>
  withFolder(async (folder) => {
    const objects = await overlaid(folder, fullOperator(), {
      namespace: '1st',
      images: [{ name: 'registry.example.com/full', newTag: '2.0.0' }],
      replicas: [{ name: 'full', count: 3 }],
    })
    const text = JSON.stringify(objects)
    assert.ok(!text.includes('full-system'), text)
    // Everything but the image and the replicas is as with --namespace.
    const expected = await objectsOf(fullOperator(), {
      image: 'registry.example.com/full:2.0.0',
      namespace: '1st',
      createNamespace: true,
    })
    assert.deepEqual(
      sorted(objects),
      sorted(JSON.parse(JSON.stringify(expected).replace('"replicas":2', '"replicas":3')) as ManifestObject[]),
    )
  }))

test(
  'an overlay that moves the Roles of several namespaces is refused by kustomize',
  { skip },
  () =>
    withFolder(async (folder) => {
      await assert.rejects(overlaid(folder, fullOperator(['east', 'west']), { namespace: 'other' }), /ID conflict/)
    }),
)

test(
  'a prefix does not reach what the operator itself names: rights and the Service of a conversion',
  { skip },
  () =>
    withFolder(async (folder) => {
      const objects = await overlaid(folder, fullOperator(), { namePrefix: 'p-' })
      // deno-lint-ignore no-explicit-any -- any path of an object
      const of = (kind: string): any => objects.find((each) => each.kind === kind)
      assert.equal(of('Service').metadata.name, 'p-full')
      assert.equal(of('ValidatingWebhookConfiguration').metadata.name, 'p-full-validating-webhook-configuration')
      // docs/deploying.md says so.
      assert.match(JSON.stringify(of('ClusterRole').rules), /"full-validating-webhook-configuration"/)
      assert.equal(of('CustomResourceDefinition').spec.conversion.webhook.clientConfig.service.name, 'full')
    }),
)
