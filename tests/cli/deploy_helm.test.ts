/** Tests the chart of `kubeloop manifests --helm`, with Helm itself where KUBELOOP_HELM is its path. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import process from 'node:process'
import { test } from 'node:test'
import { loadAll } from 'js-yaml'
import { operator } from 'kubeloop'
import { ConfigMap } from 'kubeloop/kinds'
import type { AnyObject } from '../../lib/cli/deploy/files.ts'
import { chartFiles, chartOptions } from '../../lib/cli/deploy/helm.ts'
import type { DeployOptions } from '../../lib/cli/deploy/options.ts'
import { withContainer, workloadOf } from '../../lib/cli/deploy/parts.ts'
import { asText, BRACES, chartOf, fullOperator, IMAGE, objectsOf, withFolder, writeAll } from './deploy_sample.ts'
import { golden } from './golden.ts'

/** A chart of an operator without anything that is optional. */
function plainOperator() {
  const app = operator({ name: 'plain' })
  app.controllerFor(ConfigMap).reconcile(async () => {})
  return app
}

test('the chart of an operator with everything is that of the golden file', async () => {
  golden('full_chart.txt', asText(await chartOf(fullOperator(['east', 'west']))))
})

// deno-lint-ignore no-explicit-any -- any path of a document
async function read(name: string, app = fullOperator(), options?: DeployOptions): Promise<any> {
  const text = (await chartOf(app, options)).get(name)!
  return name.endsWith('.json') ? JSON.parse(text) : loadAll(text)[0]
}

for (
  const [image, expected, chart] of [
    ['a/b:1.2.3', ['a/b', '', ''], ['1.2.3', '1.2.3']],
    ['a/b:v1.2.3-rc.1', ['a/b', '', ''], ['1.2.3-rc.1', 'v1.2.3-rc.1']],
    ['a/b:latest', ['a/b', '', ''], ['0.1.0', 'latest']],
    ['a/b:1.2', ['a/b', '', ''], ['0.1.0', '1.2']],
    ['a/b:1.2.3-01', ['a/b', '', ''], ['0.1.0', '1.2.3-01']],
    ['a/b:01.2.3', ['a/b', '', ''], ['0.1.0', '01.2.3']],
    ['a/b', ['a/b', '', ''], ['0.1.0', undefined]],
    [`a/b@sha256:${'a'.repeat(64)}`, ['a/b', '', `sha256:${'a'.repeat(64)}`], ['0.1.0', undefined]],
  ] as const
) {
  test(`the image ${image.slice(0, 16)} gives the values and the versions of the chart`, async () => {
    const values = await read('values.yaml', fullOperator(), { image })
    assert.deepEqual([values.image.repository, values.image.tag, values.image.digest], expected)
    const { version, appVersion } = await read('Chart.yaml', fullOperator(), { image })
    assert.deepEqual([version, appVersion], chart)
  })
}

test('values are for what the operator has, and options are their defaults', async () => {
  const values = await read('values.yaml', fullOperator(), { image: IMAGE, replicas: 3, serviceMonitor: true })
  assert.deepEqual([values.replicas, values.serviceMonitor.enabled, values.crds.install], [3, true, true])
  const plain = await read('values.yaml', plainOperator())
  assert.deepEqual([plain.replicas, plain.serviceMonitor, plain.crds], [1, undefined, undefined])
  const names = [...(await chartOf(plainOperator())).keys()]
  assert.deepEqual(names.filter((name) => name.startsWith('templates/')).sort(), [
    'templates/NOTES.txt',
    'templates/_helpers.tpl',
    'templates/deployment.yaml',
    'templates/networkpolicy.yaml',
    'templates/rbac.yaml',
  ])
  const { properties } = await read('values.schema.json', plainOperator())
  assert.equal(properties.replicas.maximum, 1)
  assert.equal((await read('values.schema.json')).properties.replicas.maximum, undefined)
})

test('braces of the operator are no actions, and a valid YAML string stays one', async () => {
  const crds = (await chartOf(fullOperator())).get('templates/crds.yaml')!
  const described = crds.split('\n').find((each) => each.includes('Like '))!
  assert.ok(described.includes('Like {{ `{{` }} .Values.x }}, {{ `{{` }}- y -}} and {{ `{{` }}{z}}} with'), described)
  assert.equal(JSON.parse(described.replace(/^ *description: /, '').replaceAll('{{ `{{` }}', '{{')), BRACES)
})

test('variables of the values follow those that the container has', async () => {
  const objects = await objectsOf(plainOperator(), chartOptions({}))
  const workload = withContainer(workloadOf(objects), (container) => ({
    ...container,
    env: [{ name: 'OWN', value: '{{' }],
  }))
  const text = chartFiles([workload], {}).get('templates/deployment.yaml')!
  assert.ok(
    text.includes(`        env:
        - name: OWN
          value: "{{ \`{{\` }}"
        {{- with .Values.logLevel }}
        - name: KUBELOOP_LOG
          value: {{ . | quote }}
        {{- end }}
        {{- with .Values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
        {{- with .Values.resources }}
`),
    text,
  )
})

test("the release's namespace is nowhere a name of its own", async () => {
  const text = asText(await chartOf(fullOperator(['east'])))
  assert.ok(!text.includes('kubeloop-release-namespace'))
  assert.ok(!text.includes('full-system'))
})

const helm = process.env['KUBELOOP_HELM']
const skip = helm ? false : 'KUBELOOP_HELM is not set to the path of helm'

function run(...args: string[]): { readonly code: number | null; readonly stdout: string; readonly stderr: string } {
  const { status, stdout, stderr } = spawnSync(helm!, args, { encoding: 'utf8' })
  return { code: status, stdout, stderr }
}

/** Returns what `helm template` renders. */
function rendered(...args: string[]): AnyObject[] {
  const { code, stdout, stderr } = run('template', ...args)
  assert.equal(code, 0, stderr)
  return (loadAll(stdout) as (AnyObject | null)[]).filter((each) => each !== null)
}

/** Returns the object as it is without a chart: Helm's labels and annotations are left out, keys are sorted. */
function plain(object: AnyObject): string {
  const added = [
    'app.kubernetes.io/instance',
    'app.kubernetes.io/managed-by',
    'helm.sh/chart',
    'helm.sh/resource-policy',
  ]
  return JSON.stringify(object, (name, each: unknown) => {
    if (typeof each !== 'object' || each === null || Array.isArray(each)) return each
    const entries = Object.entries(each).filter(([key]) => !added.includes(key)).sort(([a], [b]) => (a < b ? -1 : 1))
    return (name === 'labels' || name === 'annotations') && entries.length === 0
      ? undefined
      : Object.fromEntries(entries)
  })
}

test('helm renders the objects of standard output', { skip }, () =>
  withFolder(async (folder) => {
    for (const replicas of [1, 2]) {
      writeAll(folder, await chartOf(fullOperator()))
      const lint = run('lint', '--strict', folder)
      assert.equal(lint.code, 0, lint.stdout)
      // A namespace and a release of digits must stay strings.
      const objects = await objectsOf(fullOperator(), {
        image: IMAGE,
        namespace: '123',
        replicas,
        serviceMonitor: true,
      })
      const args = ['--namespace', '123', '--set', `replicas=${replicas},serviceMonitor.enabled=true`]
      const found = rendered('007', folder, ...args)
      assert.deepEqual(found.map(plain).sort(), objects.map(plain).sort())
      for (const { metadata } of found) assert.equal(metadata.labels?.['app.kubernetes.io/instance'], '007')
    }
  }))

test(
  'helm: a Role in the namespace of the release is there beside that of a watched namespace',
  { skip },
  () =>
    withFolder(async (folder) => {
      writeAll(folder, await chartOf(fullOperator(['east', 'west'])))
      const objects = rendered('full', folder, '--namespace', 'east')
      for (const kind of ['Role', 'RoleBinding']) {
        const own = objects.filter((each) => each.kind === kind)
        assert.deepEqual(own.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort(), [
          'east/full',
          'east/full-own',
          'west/full',
        ])
      }
      const [binding] = objects.filter(({ kind, metadata }) => kind === 'RoleBinding' && metadata.name === 'full-own')
      assert.equal((binding!['roleRef'] as { name: string }).name, 'full-own')
    }),
)

test('helm: every value reaches its place', { skip }, () =>
  withFolder(async (folder) => {
    writeAll(folder, await chartOf(fullOperator()))
    const values = {
      image: { repository: 'other/full', tag: '9', digest: `sha256:${'b'.repeat(64)}`, pullPolicy: 'Always' },
      imagePullSecrets: [{ name: 'registry' }],
      replicas: 2,
      logLevel: 'debug',
      env: [{ name: 'TZ', value: 'UTC' }],
      resources: { limits: { memory: '1Gi', cpu: 2 } },
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      labels: { team: 'a' },
      annotations: { 'example.com/b': '{{ not a template }}' },
      podAnnotations: { c: 'd' },
      serviceAccount: { annotations: { role: 'arn' } },
      networkPolicy: { enabled: false },
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
      crds: { install: false },
      global: { any: 1 },
    }
    writeAll(folder, new Map([['mine.json', JSON.stringify(values)]]))
    const objects = rendered('full', folder, '--values', `${folder}/mine.json`)
    // deno-lint-ignore no-explicit-any -- any path of an object
    const of = (wanted: string): any => objects.find(({ kind }) => kind === wanted)
    assert.deepEqual([of('NetworkPolicy'), of('CustomResourceDefinition')], [undefined, undefined])
    for (const { kind, metadata } of objects) {
      assert.equal(metadata.labels?.['team'], 'a', kind)
      assert.equal(metadata.annotations?.['example.com/b'], '{{ not a template }}', kind)
    }
    assert.equal(of('ServiceAccount').metadata.annotations.role, 'arn')
    assert.equal(of('ServiceMonitor').metadata.labels.release, 'prometheus')
    const { replicas, template: { metadata, spec } } = of('Deployment').spec
    assert.equal(replicas, 2)
    assert.deepEqual(metadata, { labels: { 'app.kubernetes.io/name': 'full', team: 'a' }, annotations: { c: 'd' } })
    const { imagePullSecrets, nodeSelector, tolerations, affinity } = values
    for (const [name, value] of Object.entries({ imagePullSecrets, nodeSelector, tolerations, affinity })) {
      assert.deepEqual(spec[name], value)
    }
    const [container] = spec.containers
    assert.equal(container.image, `other/full:9@${values.image.digest}`)
    assert.equal(container.imagePullPolicy, 'Always')
    assert.deepEqual(container.env, [{ name: 'KUBELOOP_LOG', value: 'debug' }, ...values.env])
    // Helm merges maps: the requests are still the chart's.
    assert.deepEqual(container.resources, { requests: { cpu: '10m', memory: '128Mi' }, ...values.resources })
  }))

test(
  'helm refuses values of the wrong type, and names that it does not know',
  { skip },
  () =>
    withFolder(async (folder) => {
      writeAll(folder, await chartOf(fullOperator()))
      for (
        const [set, problem] of [
          ['replicas=two', "at '/replicas': got string, want integer"],
          ['replicas=-1', "at '/replicas': minimum: got -1, want 0"],
          ['image.tag=2', "at '/image/tag': got number, want string"],
          ['image.digest=abc', "at '/image/digest': 'abc' does not match pattern"],
          ['env=x', "at '/env': got string, want array"],
          ['env[0].value=x', "at '/env/0': missing property 'name'"],
          ['nodeSelector.a=1', "at '/nodeSelector/a': got number, want string"],
          ['tollerations[0].key=a', "additional properties 'tollerations' not allowed"],
          ['resources.limit.cpu=1', "at '/resources': additional properties 'limit' not allowed"],
          ['networkPolicy.enabled=maybe', "at '/networkPolicy/enabled': got string, want boolean"],
          ['logLevel=loud', "at '/logLevel': value must be one of"],
          ['labels.app\\.kubernetes\\.io/name=x', "at '/labels/app.kubernetes.io~1name'"],
          ['annotations.helm\\.sh/resource-policy=x', "at '/annotations/helm.sh~1resource-policy'"],
        ] as const
      ) {
        const { code, stderr } = run('template', 'full', folder, '--set', set)
        assert.equal(code, 1, set)
        assert.ok(stderr.includes(problem), `${set}: ${stderr}`)
      }
      writeAll(folder, await chartOf(plainOperator()))
      const { stderr } = run('template', 'plain', folder, '--set', 'replicas=2')
      assert.ok(stderr.includes("at '/replicas': maximum: got 2, want 1"), stderr)
    }),
)
