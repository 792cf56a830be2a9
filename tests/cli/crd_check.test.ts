/** Tests `kubeloop crd --check` and `--against live`: files, bad input, and the whole command. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AnyResource, Cluster, defineResource } from 'kubeloop'
import { cel } from 'kubeloop/schema'
import { ApiServer, serve } from 'kubeloop/apiserver'
import * as z from 'zod'
import { checkCommitted } from '../../lib/cli/crd/check.ts'
import { checkStored } from '../../lib/cli/crd/live.ts'
import { refusals } from '../../lib/cli/crd/refused.ts'
import { kubeconfigText } from '../../lib/cli/api/serving.ts'
import { manifestText } from '../../lib/cli/manifests.ts'
import { Api } from '../../lib/client/api.ts'
import { CRD, type CustomResourceDefinition } from '../../lib/core/resource.ts'
import { crdOf } from '../../lib/schema/crds.ts'
import { answer, recorder, refusal } from '../client/transports.ts'
import { inFolder } from './dev_command.ts'
import { goldenCases } from './golden.ts'

const of = (spec: z.ZodType, more: object = {}): AnyResource =>
  defineResource({ group: 'example.com', version: 'v1', kind: 'Foo', spec, ...more }) as AnyResource
const crd = (...resources: AnyResource[]): CustomResourceDefinition => crdOf(resources)[0]!
const size = (max: number): AnyResource => of(z.object({ size: z.int32().max(max) }))
const bar = of(z.object({}), { kind: 'Bar' })
const webhook = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingWebhookConfiguration',
  metadata: { name: 'foo' },
  webhooks: [{ name: 'a' }],
}

const yaml = (...objects: readonly object[]): string => manifestText(objects)

test('definitions in a file of several, and in a folder with other files, are found', async () => {
  await inFolder(async (folder) => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } }
    folder.write('all.yaml', yaml(namespace, crd(size(10)), crd(bar)))
    folder.write('crds/a/foo.json', JSON.stringify(crd(size(10))))
    folder.write('crds/b.yml', yaml(crd(bar), webhook))
    folder.write('crds/other.yaml', yaml(crd(of(z.object({}), { group: 'other.example.com' }))))
    folder.write('crds/kustomization.yaml', 'resources: [a/foo.json]\n')
    folder.write('crds/templates/x.yaml', '{{ if .Values.x }}\nkind: ConfigMap\n{{ end }}\n')
    for (const skipped of ['.hidden', 'node_modules']) {
      folder.write(`crds/${skipped}/x.yaml`, 'kind: CustomResourceDefinition\n')
    }
    folder.write('lists/foo.yaml', yaml({ apiVersion: 'v1', kind: 'List', items: [crd(size(10)), crd(bar)] }))
    for (const path of ['all.yaml', 'crds', 'lists']) {
      const at = `${folder.path}/${path}`
      assert.deepEqual(await checkCommitted([crd(size(10)), crd(bar)], at), { lines: [], breaking: 0 }, path)
    }
    const rules = [{ apiGroups: ['example.com'], resources: ['foos'] }]
    folder.write('crds/c.yaml', yaml({ ...webhook, metadata: { name: 'old' }, webhooks: [{ name: 'a', rules }] }))
    const changed = [crd(size(5)), { ...webhook, webhooks: [] }]
    const { lines, breaking } = await checkCommitted(changed, `${folder.path}/crds`)
    assert.deepEqual(lines.map((line) => line.replace(`${folder.path}/`, '')), [
      'crds/a/foo.json: foos.example.com v1 spec.size: maximum is 5, not 10 (breaks stored objects)',
      'crds/b.yml: ValidatingWebhookConfiguration foo webhooks is [], not [{"name":"a"}]',
      'crds/b.yml: bars.example.com is not defined by the operator (deleting it deletes its objects)',
      'crds/c.yaml: ValidatingWebhookConfiguration old is not defined by the operator (writes that nothing answers are refused)',
    ])
    assert.equal(breaking, 3)
    // Webhook configurations may be somewhere else; a definition must be there.
    const more = [crd(size(10)), crd(of(z.object({}), { kind: 'New' })), webhook]
    const missing = await checkCommitted(more, `${folder.path}/all.yaml`)
    assert.deepEqual(missing.lines.map((line) => line.replace(`${folder.path}/`, '')), [
      'all.yaml: news.example.com is missing',
      'all.yaml: bars.example.com is not defined by the operator (deleting it deletes its objects)',
    ])
  })
})

const whole = crd(size(10))
const BAD: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'no file': {},
  'an empty folder': { 'path/x.txt': '' },
  'no definition': { path: yaml(webhook) },
  'a folder without one': { 'path/x.yaml': 'a: 1' },
  'no object': { path: '- 1\n' },
  'one twice': { path: yaml(whole, whole) },
  'one in two files': { 'path/a.yaml': yaml(whole), 'path/b.yaml': yaml(whole) },
  'an old one': { path: yaml({ ...whole, apiVersion: 'apiextensions.k8s.io/v1beta1' }) },
  'one without a spec': { path: yaml({ ...whole, spec: undefined }) },
  'one without versions': { path: yaml({ ...whole, spec: { ...whole.spec, versions: 'v1' } }) },
  'one without names': { path: yaml({ ...whole, spec: { ...whole.spec, names: undefined } }) },
}

test('committed definitions that cannot be compared are refused with the reasons of the golden file', async () => {
  const cases: (readonly [string, readonly string[]])[] = []
  for (const [title, files] of Object.entries(BAD)) {
    await inFolder(async (folder) => {
      for (const [name, text] of Object.entries(files)) folder.write(name, text)
      await assert.rejects(checkCommitted([whole], `${folder.path}/path`), ({ message }: Error) => {
        cases.push([title, [message.replaceAll(`${folder.path}/path`, 'PATH')]])
        return true
      })
    })
  }
  goldenCases('uncheckable.txt', cases)
})

const equal = (length: number): z.ZodType =>
  z.array(z.string().max(60)).max(length).check(cel('self.all(a, self.all(b, a == b))'))

/** Definitions, each of which an API server would refuse, but those that are cheap. */
const REFUSED: Readonly<Record<string, AnyResource>> = {
  'rules': of(z.object({
    pairs: z.array(z.string()).check(cel('self.all(a, self.all(b, a == b))')),
    items: z.array(z.object({ name: z.string().check(cel('self.first == 1')) })),
    byName: z.record(z.string(), z.string().check(cel('self.size()'))),
    text: z.int32().check(cel('self > 1', { messageExpression: "'not ' + string(self)" })),
  })),
  'rules that limits make cheap enough': of(z.object({ pairs: equal(20) })),
  'metadata and columns': of(
    z.object({ bag: z.array(z.string()).meta({ 'x-kubernetes-list-type': 'bag' }), n: z.int32() }),
    {
      columns: { N: { path: '.spec.n', type: 'text' } },
      selectableFields: ['.spec.n', '.spec.n', '.spec.a', '.spec.bag'],
    },
  ),
  'rules of which each is allowed, but not all together': of(
    z.object(Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`f${at}`, equal(400)]))),
  ),
}

test('what an API server would refuse is that of the golden file, with the path of the schema and the rule', async () => {
  const cases: (readonly [string, readonly string[]])[] = []
  for (const [title, resource] of Object.entries(REFUSED)) {
    cases.push([title, (await refusals(crd(resource))).toSorted()])
  }
  goldenCases('refused_definitions.txt', cases)
})

async function stocked(resource: AnyResource, specs: readonly object[]): Promise<ApiServer> {
  const server = new ApiServer()
  const api = new Api({ transport: server.handle })
  const definition = crd(resource)
  await api.create({ resource: CRD, name: definition.metadata.name }, definition as never, {})
  for (const [at, spec] of specs.entries()) {
    const metadata = { namespace: 'default', name: `o${at}` }
    await api.create({ resource, namespace: 'default', name: metadata.name }, { metadata, spec }, {})
  }
  return server
}

const before = of(z.object({ size: z.int32(), old: z.string().optional(), names: z.array(z.string()).default([]) }))
const after = of(
  z.object({
    size: z.int32().max(10),
    names: z.array(z.string().max(20)).max(20).default([]),
    mode: z.string().default('x'),
  }).check(
    cel("self.size > 1 || self.mode == 'b'", 'too small'),
    cel('self.size >= oldSelf.size', 'shrinks'),
    cel("[?self.?mode].all(x, x != 'y')"),
  ),
)

test('stored objects that do not fit are listed with path and reason, CEL rules included', async () => {
  const server = await stocked(before, [{ size: 5 }, { size: 12 }, { size: 5, old: 'x' }, {
    size: 1,
    names: ['a'.repeat(21)],
  }, { size: 1 }])
  const lines: string[] = []
  const cluster = new Cluster({ name: 'test', transport: server.handle })
  const result = await checkStored(crd(after), cluster, (line) => void lines.push(line))
  assert.deepEqual(result, { name: 'foos.example.com', seen: 5, unfit: 4 })
  assert.deepEqual(lines, [
    'Foo "default/o1": spec.size: Invalid value: 12: spec.size in body should be less than or equal to 10',
    'Foo "default/o2": spec.old would be lost',
    'Foo "default/o3": spec.names[0]: Too long: may not be more than 20 bytes',
    'Foo "default/o3": rules were not checked because of these problems',
    'Foo "default/o4": spec: Invalid value: too small',
  ])
  assert.deepEqual(await checkStored(crd(before), cluster, assert.fail), {
    name: 'foos.example.com',
    seen: 5,
    unfit: 0,
  })
})

test('an object that was written in a version which is not defined any more is named', async () => {
  const [v1, v2] = [of(z.object({ size: z.int32() })), of(z.object({ size: z.int32() }), { version: 'v2' })]
  const server = new ApiServer()
  const cluster = new Cluster({ name: 'test', transport: server.handle })
  await cluster.api.create({ resource: CRD, name: 'foos.example.com' }, crd(v1, v2) as never, {})
  for (const [name, resource] of [['old', v1], ['new', v2]] as const) {
    const metadata = { namespace: 'default', name }
    await cluster.api.create({ resource, ...metadata }, { metadata, spec: { size: 7 } }, {})
  }
  const lines: string[] = []
  const result = await checkStored(crd(v2), cluster, (line) => void lines.push(line))
  assert.deepEqual(result, { name: 'foos.example.com', seen: 2, unfit: 1 })
  assert.deepEqual(lines, [
    'Foo "default/old": v1, in which it was written, is not defined any more: each apply would fail ' +
    '(metadata.managedFields); define it with served: false',
  ])
  assert.equal((await checkStored(crd(v1, v2), cluster, assert.fail)).unfit, 0)
})

test('objects of a kind with several versions are counted once, in the version that is stored next', async () => {
  const v2 = of(z.object({ size: z.int32() }), { version: 'v2' })
  const v1 = of(z.object({ size: z.int32() }))
  const server = new ApiServer()
  const cluster = new Cluster({ name: 'test', transport: server.handle })
  const definition = crd(v1, v2)
  await cluster.api.create({ resource: CRD, name: definition.metadata.name }, definition as never, {})
  const metadata = { namespace: 'default', name: 'a' }
  await cluster.api.create({ resource: v1, ...metadata }, { metadata, spec: { size: 7 } }, {})
  const lines: string[] = []
  const next = [of(z.object({ size: z.int32() })), of(z.object({ size: z.int32().max(5) }), { version: 'v2' })]
  assert.deepEqual(await checkStored(crd(...next), cluster, (line) => void lines.push(line)), {
    name: 'foos.example.com',
    seen: 1,
    unfit: 1,
  })
  assert.equal(lines.length, 1)
  // With a conversion, each version is read.
  const webhook = { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://127.0.0.1:1' } }
  const converting = ({ spec, ...of }: typeof definition) => {
    return { ...of, spec: { ...spec, conversion: { strategy: 'Webhook' as const, webhook } } }
  }
  const fits = await checkStored(converting(definition), cluster, assert.fail)
  assert.deepEqual(fits, { name: 'foos.example.com', seen: 1, unfit: 0 })
  const narrow = crd(...['v1', 'v2'].map((version) => of(z.object({ size: z.int32().max(5) }), { version })))
  assert.deepEqual(await checkStored(converting(narrow), cluster, (line) => void lines.push(line)), {
    ...fits,
    unfit: 1,
  })
  assert.equal(lines.length, 3)
})

test('objects of a version that is not served cannot be read to check its narrower schema', async () => {
  const conversion = { strategy: 'Webhook' as const, webhook: { conversionReviewVersions: ['v1'], clientConfig: {} } }
  const definition = (max: number): CustomResourceDefinition => {
    const { spec, ...rest } = crd(of(z.object({ size: z.int32().max(max) })), of(z.object({}), { version: 'v2' }))
    const versions = spec.versions.map((each) => ({ ...each, served: each.name === 'v2', storage: each.name === 'v2' }))
    return { ...rest, spec: { ...spec, conversion, versions } } as unknown as CustomResourceDefinition
  }
  const status = { storedVersions: ['v1', 'v2'] }
  const list = { apiVersion: 'example.com/v2', kind: 'FooList', metadata: {}, items: [] }
  const check = (max: number) =>
    checkStored(
      definition(max),
      new Cluster({
        name: 'test',
        transport: ({ path }) => {
          const body = path.startsWith('/apis/example.com/v2/foos') ? list : { ...definition(9), status }
          return Promise.resolve(answer(200, body))
        },
      }),
      assert.fail,
    )
  assert.deepEqual(await check(10), { name: 'foos.example.com', seen: 0, unfit: 0 })
  await assert.rejects(
    check(5),
    /they may be stored as v1, whose schema becomes narrower, and it must be served to read/,
  )
})

test('a server that has no definitions at all is an error, not a kind without objects; a missing right is named', async () => {
  const check = (answer: ReturnType<typeof refusal>) =>
    checkStored(crd(bar), new Cluster({ name: 'test', transport: () => Promise.resolve(answer) }), assert.fail)
  await assert.rejects(
    check(refusal(404, 'NotFound')),
    /^Error: Cannot check the stored objects of bars\.(?!.*; it needs)/,
  )
  await assert.rejects(
    check(refusal(403, 'Forbidden')),
    /^Error: Cannot check the stored objects of bars\..*; it needs the rights to get customresourcedefinitions and to list/,
  )
})

test('stored objects are read in pages of 500, and a kind that is not there has none', async () => {
  const server = await stocked(before, Array.from({ length: 501 }, () => ({ size: 11 })))
  const network = recorder(server.handle)
  const cluster = new Cluster({ name: 'test', transport: network.transport })
  let count = 0
  const result = await checkStored(crd(after), cluster, () => void count++)
  assert.deepEqual([result.seen, result.unfit, count], [501, 501, 501])
  const lists = network.take().filter((line) => line.includes('/v1/foos'))
  assert.equal(lists.length, 2)
  assert.deepEqual(await checkStored(crd(bar), cluster, assert.fail), {
    name: 'bars.example.com',
    seen: 0,
    unfit: 0,
  })
})

const OPERATOR = (max: number, rule = 'self.size > 0'): string => `
import { defineResource } from 'kubeloop'
import { cel } from 'kubeloop/schema'
import * as z from 'zod'
export const Foo = defineResource({
  group: 'example.com', version: 'v1', kind: 'Foo',
  spec: z.object({ size: z.int32().max(${max}) }).check(cel(${JSON.stringify(rule)})),
})
`

test('the command compares files: exit code 0 if they are the same, else 1 with the differences', () =>
  inFolder(async (folder) => {
    folder.write('op.ts', OPERATOR(10))
    const printed = await folder.call('crd', 'op.ts')
    assert.equal(printed.code, 0, printed.err)
    folder.write('foo.yaml', printed.out)
    const same = { code: 0, out: 'foo.yaml has the definitions of op.ts', err: '' }
    assert.deepEqual(await folder.call('crd', 'op.ts', '--check', 'foo.yaml'), same)
    folder.write('op.ts', OPERATOR(5))
    assert.deepEqual(await folder.call('crd', 'op.ts', '--namespace', 'there', '--check', 'foo.yaml'), {
      code: 1,
      out: 'foo.yaml: foos.example.com v1 spec.size: maximum is 5, not 10 (breaks stored objects)',
      err: 'foo.yaml differs from op.ts in 1 place, of which 1 may break objects or clients; write it again with ' +
        '"kubeloop crd op.ts --namespace there"',
    })
    folder.write('op.ts', OPERATOR(5, 'self.sized'))
    const { err, ...refused } = await folder.call('crd', 'op.ts')
    assert.deepEqual(refused, { code: 1, out: '' })
    assert.match(
      err,
      /^An API server would refuse these definitions:\nfoos\.example\.com v1 spec: the rule "self\.sized" is refused: .*undefined field 'sized'$/,
    )
  }))

test('the command checks the objects in a cluster: exit code 1 if some do not fit', () =>
  inFolder(async (folder) => {
    const served = await serve(await stocked(size(100), [{ size: 5 }, { size: 50 }]))
    const run = (...args: string[]) => folder.call('crd', 'op.ts', '--against', 'live', ...args)
    try {
      folder.write('op.ts', OPERATOR(10))
      folder.write('kubeconfig', kubeconfigText(served))
      assert.deepEqual(await run('--kubeconfig', 'kubeconfig'), {
        code: 1,
        out: 'Foo "default/o1": spec.size: Invalid value: 50: spec.size in body should be less than or equal to 10\n' +
          'foos.example.com: 1 of 2 stored objects do not fit',
        err: '1 stored object does not fit the definitions',
      })
      folder.write('op.ts', OPERATOR(50))
      assert.deepEqual(await run('--kubeconfig', 'kubeconfig'), {
        code: 0,
        out: 'foos.example.com: 0 of 2 stored objects do not fit',
        err: '',
      })
      assert.match((await run('--kubeconfig', 'kubeconfig', '--context', 'nowhere')).err, /nowhere/)
      folder.write('wrong', kubeconfigText({ ...served, token: 'wrong' }))
      assert.match(
        (await run('--kubeconfig', 'wrong')).err,
        /^Cannot check the stored objects of foos\.example\.com: .*; it needs the rights to get customresourcedefinitions and to list the kind$/,
      )
    } finally {
      await served.close()
    }
    const { code, err } = await run('--kubeconfig', 'kubeconfig')
    assert.equal(code, 1)
    assert.match(err, /^Cannot check the stored objects of foos\.example\.com: [^\n]*$/)
  }))
