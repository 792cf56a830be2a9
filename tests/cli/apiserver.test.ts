/** Tests `kubeloop apiserver`: the real command, and clients that use its kubeconfig. */
import assert from 'node:assert/strict'
import { existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { dynamicResource } from 'kubeloop'
import { ConfigMap, Namespace, Secret } from 'kubeloop/kinds'
import { applied, inFolder, isError, type Line } from './dev_command.ts'

const Thing = dynamicResource({
  group: 'test.dev',
  version: 'v1',
  kind: 'Thing',
  plural: 'things',
  scope: 'Namespaced',
})
const THINGS = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: things.test.dev }
spec:
  group: test.dev
  scope: Namespaced
  names: { kind: Thing, plural: things }
  versions: [{ name: v1, served: true, storage: true, schema: { openAPIV3Schema: { type: object } } }]
---
apiVersion: test.dev/v1
kind: Thing
metadata: { name: a }
`

const is = (message: string) => (line: Line): boolean => line.message === message

test('it serves alone, prints how to use it, and ends cleanly with an open watch, without a trace', () =>
  inFolder(async (folder) => {
    const command = folder.run('apiserver')
    const { server, kubeconfig } = await command.line('serving', is('serving'))
    assert.match(String(server), /^https:\/\/127\.0\.0\.1:\d+$/)
    assert.equal(kubeconfig, '.kubeloop/kubeconfig')
    const tried = await command.line('a line to try', is('try'))
    assert.equal(tried['command'], 'kubectl --kubeconfig .kubeloop/kubeconfig get namespaces')
    const file = join(folder.path, '.kubeloop/kubeconfig')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const client = await folder.client()
    assert.equal((await client.list(Namespace)).length, 4)
    await client.create(ConfigMap, { metadata: { namespace: 'default', name: 'a' } })
    const watch = client.watch(ConfigMap)[Symbol.asyncIterator]()
    const reading = watch.next().catch(() => {})
    const second = folder.run('apiserver')
    assert.equal(await second.ended, 1)
    assert.match(second.errors(), /^Cannot start: kubeloop already runs in this folder \(process \d+\); stop it/)
    command.kill('SIGINT')
    await command.line('stopped', is('stopped'))
    assert.equal(await command.ended, 0)
    await reading
    assert.equal(command.errors(), '')
    assert.deepEqual([existsSync(file), existsSync(join(folder.path, '.kubeloop/running'))], [false, false])
    assert.equal(existsSync(join(folder.path, '.kubeloop/state.json')), false, 'nothing is kept unless it is asked for')
  }))

test('manifests are applied in order; --state keeps the objects, and nothing else; an unreadable state is moved away', () =>
  inFolder(async (folder) => {
    folder.write('things.yaml', THINGS)
    folder.write('bad.yaml', 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: Not_A_Name }\n')
    folder.write('objects.json', '{"format":"kubeloop-apiserver/1",')
    folder.write('objects.json.running/pid', '4194305') // larger than any process id
    const args = ['apiserver', '--state', 'objects.json', '--apply', 'things.yaml']
    const first = folder.run(...args, '--apply', 'bad.yaml')
    assert.match(
      (await first.line('a problem', isError)).message,
      /Cannot use the state of the last run: .*it is kept in objects\.json\.bad/,
    )
    assert.match(folder.read('objects.json.bad'), /^\{"format"/)
    await first.line('the definition', applied('CustomResourceDefinition things.test.dev', 'created'))
    await first.line('the object', applied('Thing default/a', 'created'))
    assert.match((await first.line('the refused one', isError)).message, /Not_A_Name.*\(bad\.yaml\)$/)
    await (await folder.client()).create(Thing, { metadata: { namespace: 'default', name: 'b' } } as never)
    const other = folder.run(...args, '--write-kubeconfig', 'other')
    assert.equal(await other.ended, 1)
    assert.match(other.errors(), /^Cannot start: kubeloop already keeps its state in objects\.json \(process \d+\)/)
    await first.stop()
    assert.equal(statSync(join(folder.path, 'objects.json')).mode & 0o777, 0o600)
    // That of kubeloop dev, with another cluster of an operator.
    const clusters = { west: JSON.parse(folder.read('objects.json')) }
    folder.write('objects.json', JSON.stringify({ ...clusters.west, clusters }))

    const second = folder.run(...args)
    assert.equal((await second.line('restored', is('restored')))['file'], 'objects.json')
    await second.line('the same object', applied('Thing default/a', 'unchanged'))
    const things = await (await folder.client()).list(Thing)
    assert.deepEqual(things.map(({ metadata }) => metadata.name).sort(), ['a', 'b'])
    await (await folder.client()).delete(Thing, { namespace: 'default', name: 'b' })
    await second.stop('SIGINT')
    assert.deepEqual(JSON.parse(folder.read('objects.json')).clusters, clusters)
    assert.equal(existsSync(join(folder.path, 'objects.json.running')), false)
  }))

test('several run in one folder with kubeconfigs and addresses of their own; owned objects are collected if it is asked for', () =>
  inFolder(async (folder) => {
    const plain = folder.run('apiserver', '--write-kubeconfig', 'plain.json')
    const options = ['--garbage-collector', '--host', '0.0.0.0', '--json']
    const collecting = folder.run('apiserver', '--write-kubeconfig', 'collecting.json', ...options)
    const warning = await collecting.line('a warning', ({ level }) => level === 'warn')
    assert.match(warning.message, /^The API listens on 0\.0\.0\.0, for other machines too: .* not for production$/)
    for (const command of [plain, collecting]) await command.line('a line to try', is('try'))
    const { clusters } = JSON.parse(folder.read('collecting.json'))
    assert.match(clusters[0].cluster.server, /^https:\/\/127\.0\.0\.1:\d+$/)
    for (const kubeconfig of ['plain.json', 'collecting.json']) {
      const client = await folder.client({ kubeconfig })
      const owner = await client.create(ConfigMap, { metadata: { namespace: 'default', name: 'owner' } })
      const stop = new AbortController()
      const events = client.watch(Secret, { signal: stop.signal })[Symbol.asyncIterator]()
      const first = events.next()
      await client.apply(Secret, { metadata: { namespace: 'default', name: 'owned' } }, { owner })
      assert.equal((await first).value?.type, 'ADDED')
      await client.delete(ConfigMap, { namespace: 'default', name: 'owner' })
      if (kubeconfig === 'collecting.json') assert.equal((await events.next()).value?.type, 'DELETED')
      else assert.ok(await client.get(Secret, { namespace: 'default', name: 'owned' }))
      stop.abort()
      await events.return?.().catch(() => {})
    }
    folder.write('collecting.json', 'of another process')
    for (const command of [plain, collecting]) await command.stop('SIGINT')
    assert.equal(existsSync(join(folder.path, 'plain.json')), false)
    assert.equal(folder.read('collecting.json'), 'of another process')
    assert.equal(existsSync(join(folder.path, '.kubeloop')), false)
  }))

test('what it cannot do is one line', () =>
  inFolder(async (folder) => {
    folder.write('west=things.yaml', THINGS)
    folder.write('things.yaml', THINGS)
    folder.write('mine.json', '{"current-context":"prod","users":[{"name":"kubeloop"}]}')
    folder.write('mine.yaml', 'kind: Config\n')
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const inUse = `^Cannot serve the API on 127\\.0\\.0\\.1:${port}: the port is in use; .*--port`
    const cases: readonly (readonly [option: string, value: string, code: number, message: RegExp])[] = [
      ['--port', String(port), 1, new RegExp(inUse)],
      ['--host', '192.0.2.1', 1, /^Cannot serve the API on 192\.0\.2\.1: it is not an address of this machine$/],
      [
        '--write-kubeconfig',
        'mine.json',
        1,
        /^Cannot write the kubeconfig to mine\.json: it exists, and kubeloop did not/,
      ],
      ['--write-kubeconfig', 'mine.yaml', 1, /^Cannot write the kubeconfig to mine\.yaml: /],
      [
        '--state',
        'mine.yaml',
        1,
        /^Cannot write the state to mine\.yaml: it exists, and kubeloop did not write it; name/,
      ],
      ['--apply', 'west=things.yaml', 2, /^Cannot apply things\.yaml in west: kubeloop apiserver has one cluster; /],
    ]
    try {
      for (const [option, value, code, message] of cases) {
        const called = await folder.call('apiserver', option, value)
        assert.equal(called.code, code, option)
        assert.match(called.err, message)
        assert.equal(existsSync(join(folder.path, '.kubeloop/running')), false)
        assert.equal(existsSync(join(folder.path, '.kubeloop/kubeconfig')), false)
      }
      assert.deepEqual([folder.read('mine.yaml'), folder.read('mine.json').length], ['kind: Config\n', 56])
    } finally {
      server.close()
    }
  }))
